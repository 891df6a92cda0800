// Package expr is the expression language of Google Cloud Workflows: what stands between ${ and }.
//
// Parse compiles an expression once; Eval computes it as often as wanted, with names resolved by an Env. Values are nil,
// bool, int64, float64, string, []byte, []any and map[string]any, and they are never changed here. Walk, Vars, Expr.Target
// and Format are for tools that follow, take apart or write expressions. The package knows no standard function and no
// statement: those are the engine's and the syntax's.
package expr
