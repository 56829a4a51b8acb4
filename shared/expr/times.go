package expr

import (
	"errors"
	"math"
	"time"
)

func timeArithmetic(op string, a, b any) (any, error) {
	switch a := a.(type) {
	case time.Time:
		return shift(op, a, b)
	case time.Duration:
		return stretch(op, a, b)
	}
	if d, ok := b.(time.Duration); ok && op == "*" {
		return stretch(op, d, a)
	}
	return nil, cannot(op, a, b)
}

// shift moves a time by a duration, or takes the duration between two times.
func shift(op string, t time.Time, b any) (any, error) {
	switch b := b.(type) {
	case time.Duration:
		if op == "+" {
			return inRange(t.Add(b))
		}
		if op == "-" {
			return inRange(t.Add(-b))
		}
	case time.Time:
		if op == "-" {
			return elapsed(t, b)
		}
	}
	return nil, cannot(op, t, b)
}

// inRange refuses times that RFC 3339 cannot write.
func inRange(t time.Time) (any, error) {
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return nil, errors.New("the time is outside the years 0 to 9999")
	}
	return t, nil
}

func elapsed(t, since time.Time) (any, error) {
	d := t.Sub(since)
	if d == math.MaxInt64 || d == math.MinInt64 { // where Sub saturates
		return nil, errors.New("the times are more than 292 years apart")
	}
	return d, nil
}

func stretch(op string, d time.Duration, b any) (any, error) {
	switch b := b.(type) {
	case time.Duration:
		return durations(op, d, b)
	case time.Time:
		if op == "+" {
			return inRange(b.Add(d))
		}
	case int64, float64:
		if op == "*" || op == "/" {
			v, err := arithmetic(op, int64(d), b)
			if err != nil {
				return nil, err
			}
			return toDuration(v)
		}
	}
	return nil, cannot(op, d, b)
}

func durations(op string, a, b time.Duration) (any, error) {
	switch op {
	case "+":
		s, err := addInts(int64(a), int64(b))
		return time.Duration(s), err
	case "-":
		s, err := subInts(int64(a), int64(b))
		return time.Duration(s), err
	case "/":
		return divInts(int64(a), int64(b))
	}
	return nil, cannot(op, a, b)
}

// toDuration takes nanoseconds, rounded toward zero.
func toDuration(ns any) (any, error) {
	switch ns := ns.(type) {
	case int64:
		return time.Duration(ns), nil
	case float64:
		if i, ok := integral(math.Trunc(ns)); ok {
			return time.Duration(i), nil
		}
	}
	return nil, errOverflow
}
