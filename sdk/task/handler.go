package task

import (
	"context"
	"encoding/json"
)

// Handler runs an attempt: JSON in, JSON out. Its context is that of a task's function.
type Handler func(ctx context.Context, input json.RawMessage) (json.RawMessage, error)

// Interceptor puts something around the functions of tasks, as logging,
// tracing and metrics do: what it returns calls next. It is called once for each task,
// when that is registered; what it returns is called from many goroutines. What it panics with fails
// the attempt.
type Interceptor func(next Handler) Handler
