package expr

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"time"
)

var (
	errOverflow  = errors.New("integer overflow: the result does not fit 64 bit")
	errNotFinite = errors.New("the result is not a finite number")
	errZero      = errors.New("division by zero")
)

// Integer takes a number whose value is an integer of 64 bit, be it written 3 or 3.0.
func Integer(v any) (int64, bool) { return integer(v) }

func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return integral(v)
	}
	return 0, false
}

// integral converts a float whose value is an integer of 64 bit.
func integral(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < -(1<<63) || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// float takes a number as a float, rounded if need be.
func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func finite(f float64) (any, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, errNotFinite
	}
	return f, nil
}

// compareNumbers compares an integer with a float exactly, without rounding the integer.
func compareNumbers(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -(1 << 63):
		return 1
	}
	whole := math.Trunc(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 {
		return c
	}
	return cmp.Compare(whole, f)
}

func negate(v any) (any, error) {
	switch v := v.(type) {
	case int64:
		if v == math.MinInt64 {
			return nil, errOverflow
		}
		return -v, nil
	case float64:
		return -v, nil
	case time.Duration:
		return -v, nil
	}
	return nil, fmt.Errorf("the operand of - must be a number, not %s", describe(v))
}

func addInts(a, b int64) (int64, error) {
	s := a + b
	if (s > a) != (b > 0) && b != 0 {
		return 0, errOverflow
	}
	return s, nil
}

func subInts(a, b int64) (int64, error) {
	d := a - b
	if (d < a) != (b > 0) && b != 0 {
		return 0, errOverflow
	}
	return d, nil
}

func mulInts(a, b int64) (int64, error) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	limit := uint64(math.MaxInt64)
	negative := (a < 0) != (b < 0)
	if negative {
		limit++
	}
	if hi != 0 || lo > limit {
		return 0, errOverflow
	}
	if negative {
		return int64(-lo), nil
	}
	return int64(lo), nil
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

// divInts divides to an integer if that is exact, else to the nearest float.
func divInts(a, b int64) (any, error) {
	switch {
	case b == 0:
		return nil, errZero
	case a == math.MinInt64 && b == -1:
		return nil, errOverflow
	case a%b == 0:
		return a / b, nil
	}
	f, _ := big.NewRat(a, b).Float64()
	return f, nil
}

// power raises to an integer power by repeated multiplication, which gives the same bits on every machine; other powers
// do not, and are refused.
func power(a, b any) (any, error) {
	n, ok := integer(b)
	if !ok {
		return nil, errors.New("the exponent must be an integer")
	}
	if base, isInt := a.(int64); isInt && n >= 0 {
		return powerInt(base, n)
	}
	f, _ := float(a)
	if n < 0 && f == 0 {
		return nil, errZero
	}
	p := 1.0
	for left := magnitude(n); left > 0; left >>= 1 {
		if left&1 == 1 {
			p = float64(p * f)
		}
		f = float64(f * f)
	}
	if n < 0 {
		p = 1 / p
	}
	return finite(p)
}

func powerInt(base, n int64) (any, error) {
	p := int64(1)
	var err error
	for {
		if n&1 == 1 {
			if p, err = mulInts(p, base); err != nil {
				return nil, err
			}
		}
		if n >>= 1; n == 0 {
			return p, nil
		}
		if base, err = mulInts(base, base); err != nil {
			return nil, err
		}
	}
}

// whole gives a rounded float as an integer where it fits one.
func whole(f float64) any {
	if i, ok := integral(f); ok {
		return i
	}
	return f
}
