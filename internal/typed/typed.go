// Package typed makes handlers of JSON out of tasks' functions, for whatever runs them.
package typed

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/events"
)

// JSON is fn as a handler: a raw value passes as it is, the others by encoding/json.
func JSON[I, O any](fn func(context.Context, I) (O, error)) task.Handler {
	return function[I, O]{fn, decoder[I](), encoder[O]()}.run
}

// function is a task's function with its types.
type function[I, O any] struct {
	fn     func(context.Context, I) (O, error)
	decode func(json.RawMessage) (I, error)
	encode func(O) (json.RawMessage, error)
}

func (f function[I, O]) run(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
	in, err := f.decode(input)
	if err != nil {
		return nil, &task.Error{Type: events.ErrorInvalidInput, Err: fmt.Errorf("the input is no %v: %w", reflect.TypeFor[I](), err), NonRetryable: true}
	}
	out, err := f.fn(ctx, in)
	if err != nil {
		return nil, err
	}
	return f.encode(out)
}

// decoder reads inputs; raw values pass as they are.
func decoder[I any]() func(json.RawMessage) (I, error) {
	if raw, ok := any(pass).(func(json.RawMessage) (I, error)); ok {
		return raw
	}
	return func(input json.RawMessage) (in I, err error) {
		err = json.Unmarshal(input, &in)
		return in, err
	}
}

func pass(value json.RawMessage) (json.RawMessage, error) { return value, nil }

// encoder writes results; a raw value passes as it is: the planner refuses what is not JSON.
func encoder[O any]() func(O) (json.RawMessage, error) {
	if raw, ok := any(pass).(func(O) (json.RawMessage, error)); ok {
		return raw
	}
	return func(out O) (json.RawMessage, error) {
		b, err := json.Marshal(&out)
		if err != nil {
			return nil, invalidResult(fmt.Errorf("the result has no JSON: %w", err))
		}
		return b, nil
	}
}

func invalidResult(err error) error {
	return &task.Error{Type: events.ErrorInvalidResult, Err: err, NonRetryable: true}
}
