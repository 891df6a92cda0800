package expr_test

import (
	"context"
	"fmt"

	"example.com/runonce/workflows/expr"
)

// variables is an Env of plain variables.
type variables map[string]any

func (v variables) Lookup(name string) (any, bool) { value, ok := v[name]; return value, ok }
func (v variables) Func(string) (any, bool)        { return nil, false }
func (v variables) Call(_ context.Context, name string, _ []any) (any, error) {
	return nil, &expr.Error{Kind: "TypeError", Message: "no function " + name}
}

func ExampleParse() {
	e, err := expr.Parse(`order.total * 2 > 10 and "id" in order`)
	if err != nil {
		panic(err)
	}
	v, err := e.Eval(context.Background(), variables{"order": map[string]any{"total": int64(6), "id": "a-1"}})
	fmt.Println(v, err)
	_, err = e.Eval(context.Background(), variables{"order": map[string]any{}})
	fmt.Println(err)
	// Output:
	// true <nil>
	// KeyError: key not found: total
}

func ExampleFormat() {
	token := &expr.Binary{Op: "+", X: &expr.Ident{Name: "run_id"}, Y: &expr.Literal{Value: "/charge"}}
	fmt.Println("${" + expr.Format(token) + "}")
	// Output: ${run_id + "/charge"}
}
