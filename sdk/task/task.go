package task

import (
	"fmt"
	"regexp"

	"github.com/heddle-run/heddle/shared/definition"
)

// Task names a task and the Go types of its input and result, which travel as
// JSON. json.RawMessage passes values through untouched.
type Task[I, O any] struct {
	name, queue string
}

// Name is the task's name, as definitions write it.
func (t Task[I, O]) Name() string { return t.name }

// Queue is the queue that its attempts come from.
func (t Task[I, O]) Queue() string { return t.queue }

// Option changes a task.
type Option func(*options)

type options struct{ queue string }

// OnQueue is for a task whose steps name a queue, or whose policy does. Without
// it the queue is the part of the name before the first dot, and "default" for
// names without one.
func OnQueue(queue string) Option { return func(o *options) { o.queue = queue } }

var shape = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._:/-]{0,254}$`)

// Define makes the value of a task. It panics when the name cannot be that of a
// task: like regexp.MustCompile it is for variables of a package.
func Define[I, O any](name string, opts ...Option) Task[I, O] {
	if !shape.MatchString(name) {
		panic(fmt.Sprintf("task.Define: %q is no name of a task: want 1 to 255 of A-Za-z0-9._:/-", name))
	}
	o := options{queue: definition.QueueOf(name)}
	for _, opt := range opts {
		opt(&o)
	}
	return Task[I, O]{name: name, queue: o.queue}
}
