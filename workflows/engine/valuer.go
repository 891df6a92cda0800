package engine

import (
	"example.com/runonce/workflows/expr"
	"example.com/runonce/workflows/syntax"
)

// valuer is a compiled syntax.Value.
type valuer interface {
	eval(f *frame) (any, error)
}

type constant struct{ value any }

func (c constant) eval(*frame) (any, error) { return c.value, nil }

type expression struct{ expr *expr.Expr }

func (e expression) eval(f *frame) (any, error) { return e.expr.Eval(f.ctx, f) }

type listValue struct{ elements []valuer }

func (l listValue) eval(f *frame) (any, error) {
	out := make([]any, len(l.elements))
	for i, e := range l.elements {
		v, err := e.eval(f)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

type mapValue struct{ fields []mapField }

type mapField struct{ key, value valuer }

func (m mapValue) eval(f *frame) (any, error) {
	out := make(map[string]any, len(m.fields))
	for _, field := range m.fields {
		k, err := field.key.eval(f)
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok {
			return nil, faultf(TypeError, "map key must be a string, not %s", typeName(k))
		}
		if out[key], err = field.value.eval(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// value compiles; what has no expression inside becomes one constant.
func (c *compiler) value(v *syntax.Value) valuer {
	if v == nil {
		return constant{}
	}
	switch {
	case v.Expr != nil:
		return expression{v.Expr}
	case v.Kind == syntax.List:
		return c.list(v)
	case v.Kind == syntax.Map:
		return c.mapOf(v.Map)
	}
	return constant{v.Lit}
}

func (c *compiler) list(v *syntax.Value) valuer {
	elements := make([]valuer, len(v.List))
	fixed := true
	for i, e := range v.List {
		elements[i] = c.value(e)
		_, isConstant := elements[i].(constant)
		fixed = fixed && isConstant
	}
	return fold(listValue{elements}, fixed)
}

func (c *compiler) mapOf(fields []*syntax.Field) valuer {
	compiled := make([]mapField, len(fields))
	fixed := true
	for i, field := range fields {
		key := valuer(constant{field.Key})
		if field.KeyExpr != nil {
			key = expression{field.KeyExpr}
		}
		compiled[i] = mapField{key, c.value(field.Value)}
		_, isConstant := compiled[i].value.(constant)
		fixed = fixed && isConstant && field.KeyExpr == nil
	}
	return fold(mapValue{compiled}, fixed)
}

func fold(v valuer, fixed bool) valuer {
	if !fixed {
		return v
	}
	value, err := v.eval(nil)
	if err != nil {
		return v
	}
	return constant{value}
}
