package task

import (
	"fmt"
	"regexp"

	"github.com/heddle-run/heddle/shared/events"
)

// Task names a task and the Go types of its input and result, which travel as
// JSON. json.RawMessage passes values through untouched.
type Task[I, O any] struct {
	name, queue string
}

// Name is the task's name, as definitions write it.
func (t Task[I, O]) Name() string { return t.name }

// Queue is the queue that its attempts come from: the part of the name before the
// first dot, "default" for names without one and for built-in tasks, unless OnQueue
// says otherwise.
func (t Task[I, O]) Queue() string { return t.queue }

// OnQueue is the task where its steps name that queue, or their policy does.
func (t Task[I, O]) OnQueue(queue string) Task[I, O] {
	t.queue = queue
	return t
}

var shape = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._:/-]{0,254}$`)

// Define makes the value of a task. It panics when the name cannot be that of a
// task: like regexp.MustCompile it is for variables of a package.
func Define[I, O any](name string) Task[I, O] {
	if !shape.MatchString(name) {
		panic(fmt.Sprintf("task.Define: %q is no name of a task: want 1 to 255 of A-Za-z0-9._:/-", name))
	}
	return Task[I, O]{name: name, queue: events.QueueOf(name)}
}
