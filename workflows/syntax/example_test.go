package syntax_test

import (
	"fmt"

	"example.com/runonce/workflows/expr"
	"example.com/runonce/workflows/syntax"
)

func ExampleParse() {
	_, err := syntax.Parse("order.yaml", []byte(`
- charge:
    call: http.post
    args:
      uri: https://example.com
- done:
    return: ${answer.body}
    next: nowhere
`))
	fmt.Println(err)
	// Output:
	// order.yaml:3:11: error in step charge: call of http.post lacks the argument "url"
	// order.yaml:5:7: error in step charge: http.post has no parameter "uri"; it has url, timeout, body, headers, query, auth, private_service_name, ca_certificate
	// order.yaml:7:15: error in step done: error evaluating return value: symbol 'answer' is neither a variable nor a sub-workflow name
	// order.yaml:8:11: error in step done: next names step 'nowhere', which routine 'main' does not have
}

// A tool that looks for the calls of a workflow, and for what their arguments read.
func ExampleWalk() {
	w, err := syntax.Parse("order.yaml", []byte(`
main:
  params: [input]
  steps:
    - charge:
        call: http.post
        args:
          url: ${input.shop + "/charge"}
          headers: {Idempotency-Key: '${input.run_id + "/charge"}'}
`))
	if err != nil {
		panic(err)
	}
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Call:
			fmt.Println("call", n.Func)
		case *syntax.Value:
			if n.Expr == nil {
				break
			}
			start, end := w.Span(n)
			fmt.Printf("%d: %s reads %v\n", n.Pos.Line, w.Source[start:end], expr.Vars(n.Expr.Root()))
		}
		return true
	})
	// Output:
	// call http.post
	// 8: ${input.shop + "/charge"} reads [input]
	// 9: '${input.run_id + "/charge"}' reads [input]
}
