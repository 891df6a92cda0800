package expr

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Error is an error of evaluation. Kind is a tag of the language: TypeError, KeyError, IndexError, ValueError or
// ZeroDivisionError.
type Error struct {
	Kind    string
	Message string
}

func (e *Error) Error() string { return e.Kind + ": " + e.Message }

func typeErrorf(format string, args ...any) error {
	return &Error{"TypeError", fmt.Sprintf(format, args...)}
}

type evalFunc func(ctx context.Context, env Env) (any, error)

// Eval computes the expression. The error is an *Error, or what env's Call returned.
func (e *Expr) Eval(ctx context.Context, env Env) (any, error) { return e.eval(ctx, env) }

// compile turns a tree into closures, so that evaluation neither looks at node types nor at operators' names.
func compile(n Node) evalFunc {
	switch n := n.(type) {
	case *Literal:
		return func(context.Context, Env) (any, error) { return n.Value, nil }
	case *Ident:
		return compileName(n.Name, nil)
	case *Member:
		return compileMember(n)
	case *Index:
		return compileIndex(n)
	case *ListLit:
		return compileList(n)
	case *MapLit:
		return compileMap(n)
	case *Call:
		return compileCall(n)
	case *Unary:
		return compileUnary(n)
	case *Binary:
		return compileBinary(n)
	}
	panic(fmt.Sprintf("expr: no such node: %T", n))
}

// compileName resolves a variable and the members after it; where there is no such variable, the whole is a function's name.
func compileName(name string, members []string) evalFunc {
	full := strings.Join(append([]string{name}, members...), ".")
	unknown := &Error{"KeyError", fmt.Sprintf("variable '%s' has no value", name)}
	return func(_ context.Context, env Env) (any, error) {
		v, ok := env.Lookup(name)
		if !ok {
			if f, ok := env.Func(full); ok {
				return f, nil
			}
			return nil, unknown
		}
		for _, m := range members {
			var err error
			if v, err = member(v, m); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
}

// compileMember takes all members in a row at once.
func compileMember(n *Member) evalFunc {
	var x Node = n
	var members []string
	for {
		m, ok := x.(*Member)
		if !ok {
			break
		}
		members = append(members, m.Name)
		x = m.X
	}
	slices.Reverse(members)
	if id, ok := x.(*Ident); ok {
		return compileName(id.Name, members)
	}
	of := compile(x)
	return func(ctx context.Context, env Env) (any, error) {
		v, err := of(ctx, env)
		for _, m := range members {
			if err != nil {
				break
			}
			v, err = member(v, m)
		}
		return v, err
	}
}

func member(v any, name string) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, typeErrorf("%s has no member '%s'", typeName(v), name)
	}
	out, ok := m[name]
	if !ok {
		return nil, &Error{"KeyError", "key not found: " + name}
	}
	return out, nil
}

func compileIndex(n *Index) evalFunc {
	x, i := compile(n.X), compile(n.I)
	return func(ctx context.Context, env Env) (any, error) {
		v, err := x(ctx, env)
		if err != nil {
			return nil, err
		}
		key, err := i(ctx, env)
		if err != nil {
			return nil, err
		}
		return index(v, key)
	}
}

func index(v, key any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		k, ok := key.(string)
		if !ok {
			return nil, typeErrorf("key of a map must be a string, not %s", typeName(key))
		}
		return member(v, k)
	case []any:
		i, ok := key.(int64)
		if !ok {
			return nil, typeErrorf("index of a list must be an integer, not %s", typeName(key))
		}
		if i < 0 || i >= int64(len(v)) {
			return nil, &Error{"IndexError", fmt.Sprintf("index %d is out of range for a list of %d", i, len(v))}
		}
		return v[i], nil
	}
	return nil, typeErrorf("%s cannot be indexed", typeName(v))
}

func compileList(n *ListLit) evalFunc {
	elems := compileAll(n.Elems)
	return func(ctx context.Context, env Env) (any, error) {
		return evalAll(ctx, env, elems)
	}
}

func compileAll(nodes []Node) []evalFunc {
	out := make([]evalFunc, len(nodes))
	for i, n := range nodes {
		out[i] = compile(n)
	}
	return out
}

func evalAll(ctx context.Context, env Env, all []evalFunc) ([]any, error) {
	out := make([]any, len(all))
	for i, f := range all {
		v, err := f(ctx, env)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func compileMap(n *MapLit) evalFunc {
	keys, values := compileAll(n.Keys), compileAll(n.Values)
	return func(ctx context.Context, env Env) (any, error) {
		out := make(map[string]any, len(keys))
		for i := range keys {
			k, err := keys[i](ctx, env)
			if err != nil {
				return nil, err
			}
			s, ok := k.(string)
			if !ok {
				return nil, typeErrorf("key of a map must be a string, not %s", typeName(k))
			}
			if out[s], err = values[i](ctx, env); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func compileCall(n *Call) evalFunc {
	args := compileAll(n.Args)
	return func(ctx context.Context, env Env) (any, error) {
		values, err := evalAll(ctx, env, args)
		if err != nil {
			return nil, err
		}
		return env.Call(ctx, n.Func, values)
	}
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "double"
	case string:
		return "string"
	case []byte:
		return "bytes"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	}
	return "function"
}
