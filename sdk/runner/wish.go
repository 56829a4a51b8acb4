package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"

	core "github.com/heddle-run/heddle/internal/runner"
)

// ErrNoAttempt is of contexts that are not of a task's function which a runner has called.
var ErrNoAttempt = errors.New("only the context of a task's function that a runner has called has an attempt")

// sleepError ends an attempt that sleeps.
type sleepError struct{ until time.Time }

// Error implements error.
func (e *sleepError) Error() string {
	return fmt.Sprintf("the attempt sleeps until %s", e.until.Format(time.RFC3339))
}

// SleepUntil is what a task's function returns to go on later: its attempt ends and gives its slot back, and another one begins
// at that time, or soon after it. What it keeps (KeysOf) is there then. Neither of them counts as a failure or a retry, and no slot is
// held meanwhile; a time that has passed means at once.
func SleepUntil(t time.Time) error { return &sleepError{t} }

// AskToStop asks for the attempt to be stopped whose function has the context: a while later that ends, with a StoppedError of the reason
// "requested" as its cause. The attempt ends as its function does then. It fails with ErrNoAttempt, or when the runner is over.
func AskToStop(ctx context.Context) error {
	a, ok := ctx.Value(attemptKey{}).(*attempt)
	if !ok {
		return ErrNoAttempt
	}
	wish := &frames.TaskIntent{Token: a.task.Token, Intent: frames.IntentStop}
	if !a.loop.post(func() { a.loop.session.Ask(time.Now(), wish) }) {
		return core.ErrOver
	}
	return nil
}

// sleep is how an attempt ends that sleeps, and what is said before that.
func (a *attempt) sleep(e *sleepError) (end *frames.TaskState, wishes []frames.Report) {
	at := e.until.UnixMilli()
	end = &frames.TaskState{
		Token: a.task.Token, State: frames.StateStopped, Error: &frames.TaskError{Type: events.ErrorSleeping, Message: e.Error()},
	}
	return end, []frames.Report{&frames.SetAlarm{Token: a.task.Token, At: &at}, &frames.TaskIntent{Token: a.task.Token, Intent: frames.IntentSleep}}
}
