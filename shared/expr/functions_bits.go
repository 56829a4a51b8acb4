package expr

import (
	"errors"

	"github.com/expr-lang/expr/ast"
)

var bitFunctions = map[string]function{
	"bitand":  bitwise(func(x, y int64) int64 { return x & y }),
	"bitor":   bitwise(func(x, y int64) int64 { return x | y }),
	"bitxor":  bitwise(func(x, y int64) int64 { return x ^ y }),
	"bitnand": bitwise(func(x, y int64) int64 { return x &^ y }),
	"bitshl":  shifting(func(x int64, y uint) int64 { return x << y }, true),
	"bitshr":  shifting(func(x int64, y uint) int64 { return x >> y }, false),
	"bitushr": shifting(func(x int64, y uint) int64 { return int64(uint64(x) >> y) }, false),
	"bitnot": {[]kinds{numberKind}, 1, intKind, func(_ *machine, _ ast.Node, args []any) (any, error) {
		x, ok := integer(args[0])
		if !ok {
			return nil, errNotInteger
		}
		return ^x, nil
	}},
}

var errNotInteger = errors.New("takes integers only")

func bitwise(f func(x, y int64) int64) function {
	return function{[]kinds{numberKind, numberKind}, 2, intKind, func(_ *machine, _ ast.Node, args []any) (any, error) {
		x, ok := integer(args[0])
		y, both := integer(args[1])
		if !ok || !both {
			return nil, errNotInteger
		}
		return f(x, y), nil
	}}
}

// shifting is a shift by 0 to 63; one to the left that loses bits is an overflow.
func shifting(f func(x int64, y uint) int64, left bool) function {
	return bitChecked(func(x, y int64) (any, error) {
		if y < 0 || y > 63 {
			return nil, errors.New("a shift must be by 0 to 63")
		}
		v := f(x, uint(y))
		if left && v>>uint(y) != x {
			return nil, errOverflow
		}
		return v, nil
	})
}

func bitChecked(f func(x, y int64) (any, error)) function {
	return function{[]kinds{numberKind, numberKind}, 2, intKind, func(_ *machine, _ ast.Node, args []any) (any, error) {
		x, ok := integer(args[0])
		y, both := integer(args[1])
		if !ok || !both {
			return nil, errNotInteger
		}
		return f(x, y)
	}}
}
