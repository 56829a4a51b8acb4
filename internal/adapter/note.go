package adapter

import (
	"encoding/json"
	"log/slog"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/task"
)

// note is what is told of an accepted work as details of a heartbeat: it is in the journal, and the next attempt has it.
type note struct {
	Work string `json:"work"` // its key
	Ref  string `json:"ref"`  // its ID
}

// noted is the work that an attempt before this one has told of, if this one goes on with it.
func (c *call) noted() (executor.Ref, bool) {
	var n note
	if json.Unmarshal(c.attempt.Spec.Heartbeat, &n) != nil || n.Work != c.work.Key || len(n.Ref) > executor.MaxID {
		return executor.Ref{}, false // it was told of another work, or by a task of another kind
	}
	return executor.Ref{Key: n.Work, ID: n.Ref}, true
}

// note tells of an accepted work.
func (c *call) note(id string) error {
	details, err := json.Marshal(note{c.work.Key, id})
	if err != nil {
		return err
	}
	return c.attempt.Heartbeat(details)
}

// Source tells of a worker's attempt: it is a task.Source.
type Source struct {
	Attempt *worker.Attempt
	Log     *slog.Logger
}

// TaskAttempt implements task.Source.
func (s *Source) TaskAttempt() *task.Attempt {
	a := s.Attempt
	return &task.Attempt{
		Sealed: a.Spec.Token, Workflow: a.Workflow, Task: a.Spec.Task, Component: a.Spec.Component,
		Number: int(a.Spec.Attempt), IdempotencyKey: a.Spec.IdempotencyKey, TraceParent: a.Spec.TraceParent,
		Context: a.Spec.Context, LastHeartbeat: a.Spec.Heartbeat, Logger: s.Log, Heartbeat: a.Heartbeat,
	}
}
