package idtokentest_test

import (
	"context"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"

	"example.com/runonce/e2e/idtokentest"
)

func Example() {
	issuer := idtokentest.New(idtokentest.Config{})
	defer issuer.Close()

	ctx := context.Background()
	keys := oidc.NewRemoteKeySet(ctx, issuer.JWKSURL())
	verifier := oidc.NewVerifier(idtokentest.GoogleIssuer, keys, &oidc.Config{ClientID: "https://proxy.example"})

	_, err := verifier.Verify(ctx, issuer.Token(idtokentest.Claims{Audience: "https://proxy.example"}))
	fmt.Println("good:", err)
	_, err = verifier.Verify(ctx, issuer.Bad(idtokentest.ShortES256, idtokentest.Claims{Audience: "https://proxy.example"}))
	fmt.Println("bad is refused:", err != nil)
	// Output:
	// good: <nil>
	// bad is refused: true
}
