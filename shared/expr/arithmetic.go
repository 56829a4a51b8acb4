package expr

import (
	"errors"
)

// arithmetic is + - * / % ** on numbers, times and durations.
func arithmetic(op string, a, b any) (any, error) {
	x, intA := a.(int64)
	y, intB := b.(int64)
	if intA && intB {
		return intArithmetic(op, x, y)
	}
	if kindOf(a)&numberKind != 0 && kindOf(b)&numberKind != 0 {
		return floatArithmetic(op, a, b)
	}
	if kindOf(a)&(timeKind|durationKind) != 0 || kindOf(b)&durationKind != 0 {
		return timeArithmetic(op, a, b)
	}
	return nil, cannot(op, a, b)
}

func intArithmetic(op string, a, b int64) (any, error) {
	switch op {
	case "+":
		return boxed(addInts(a, b))
	case "-":
		return boxed(subInts(a, b))
	case "*":
		return boxed(mulInts(a, b))
	case "/":
		return divInts(a, b)
	case "%":
		if b == 0 {
			return nil, errZero
		}
		if b == -1 {
			return int64(0), nil
		}
		return a % b, nil
	}
	return power(a, b)
}

func boxed(i int64, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return i, nil
}

func floatArithmetic(op string, a, b any) (any, error) {
	x, _ := float(a)
	y, _ := float(b)
	switch op {
	case "+":
		return finite(x + y)
	case "-":
		return finite(x - y)
	case "*":
		return finite(x * y)
	case "/":
		if y == 0 {
			return nil, errZero
		}
		return finite(x / y)
	case "%":
		i, ok := integer(a)
		j, both := integer(b)
		if !ok || !both {
			return nil, errors.New("operator % takes integers only")
		}
		return intArithmetic(op, i, j)
	}
	return power(a, b)
}
