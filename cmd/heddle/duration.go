package main

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/heddle-run/heddle/shared/expr"
)

// decodeDuration reads a flag or a setting as definitions write a duration: 30s, 7d or PT30S. A number without its unit is
// refused, which kong would take as nanoseconds.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	text, ok := token.Value.(string)
	if !ok {
		return fmt.Errorf("%v is no duration; write 1m30s, 7d or PT1M30S", token.Value)
	}
	d, err := expr.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("must not be negative")
	}
	if err != nil {
		return err
	}
	target.Set(reflect.ValueOf(d))
	return nil
}
