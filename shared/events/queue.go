package events

import "strings"

// DefaultQueue is where built-in tasks and tasks without a dot in their name go.
const DefaultQueue = "default"

// QueueOf is the queue of a task that no component or policy sends elsewhere: its name
// before the first dot.
func QueueOf(task string) string {
	family, _, dotted := strings.Cut(task, ".")
	switch family {
	case "http", "kafka", "exec", "terminal", "test":
		return DefaultQueue
	}
	if !dotted {
		return DefaultQueue
	}
	return family
}
