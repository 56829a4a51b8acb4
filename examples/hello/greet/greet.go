// Package greet is the task of the hello example.
package greet

import (
	"context"

	"github.com/heddle-run/heddle/sdk/task"
)

// Person is whom to greet.
type Person struct {
	Name string `json:"name"`
}

// Task is the task with the types of its input and result.
var Task = task.Define[Person, string]("hello.greet")

// Greet greets.
func Greet(_ context.Context, p Person) (string, error) { return "hello " + p.Name, nil }
