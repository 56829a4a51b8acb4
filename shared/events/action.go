package events

import "github.com/heddle-run/heddle/shared/wire"

// Action is what follows from an attempt that did not complete.
type Action uint8

// Actions after a failure.
const (
	ActionRetry Action = 1 // another attempt; RetryScheduled says when
	ActionHalt  Action = 2 // the workflow fails
	ActionSkip  Action = 3 // what depends on it is suppressed
	ActionCatch Action = 4 // FailureCaught follows

	ActionFallback Action = 5 // FallbackApplied follows
	ActionHold     Action = 6 // the runnable is uncertain: somebody has to say what became of the attempt
	ActionProbe    Action = 7 // a task is asked what became of the attempt
)

func (a Action) String() string {
	return [...]string{"", "retry", "halt", "skip", "catch", "fallback", "hold", "probe"}[a&7]
}

// Purpose is what an attempt is for. Values are recorded.
type Purpose uint8

// Purposes of attempts.
const (
	ForResult   Purpose = 0 // the component's own task
	ForFallback Purpose = 1 // the task of the fallback, or the component's own with the context of the fallback
	ForProbe    Purpose = 2 // the task that is asked what became of an attempt that was lost
)

func (p Purpose) String() string { return [...]string{"", "fallback", "probe", ""}[p&3] }

// Answer is what a probe says became of an attempt that was lost. Values are recorded.
type Answer uint8

// The answers.
const (
	AnswerCompleted Answer = 1 // RunnableCompleted follows
	AnswerFailed    Answer = 2 // RunnableFailed follows
	AnswerNotDone   Answer = 3 // it had no effects: RetryScheduled follows, or RunnableFailed where no more losses are replaced
)

func (a Answer) String() string { return [...]string{"", "completed", "failed", "not_done"}[a&3] }

// By says who asked and why; kept in the history.
type By struct {
	Who string `json:"by,omitempty"`
	Why string `json:"why,omitempty"`
}

// Fields implements wire.Message.
func (b *By) Fields(c *wire.Codec) {
	wire.String(c, 1, "by", &b.Who)
	wire.String(c, 2, "why", &b.Why)
}
