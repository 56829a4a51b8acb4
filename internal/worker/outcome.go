package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
)

// outcome says how an attempt ended, or that it is pending.
func (t *Worker) outcome(a *Attempt, result json.RawMessage, err error) (o events.TaskOutcome, pending bool) {
	o = events.TaskOutcome{Token: a.Spec.Token, Executor: t.config.Name}
	switch {
	case err == nil && len(result) > t.config.MaxResult:
		tooLarge(&o, len(result), t.config.MaxResult)
	case err == nil:
		o.Outcome, o.Result = events.OutcomeCompleted, result
		if len(result) == 0 {
			o.Result = json.RawMessage("null")
		}
	case errors.Is(err, ErrPending):
		return o, true
	case errors.Is(err, ErrUnknownTask):
		o.Outcome = events.OutcomeUnknownTask
		e := events.TaskError{Type: events.ErrorUnknownTask, Message: err.Error()}.Bounded()
		o.Error = &e
	case errors.Is(err, ErrLost):
		o.Outcome = events.OutcomeAbandoned
		o.Error = taskError(o.Outcome, err)
	default:
		o.Outcome = ended(&a.life, err)
		o.Error = taskError(o.Outcome, err)
	}
	return o, false
}

func tooLarge(o *events.TaskOutcome, size, limit int) {
	o.Outcome, o.Result = events.OutcomeFailed, nil
	o.Error = &events.TaskError{
		Type: events.ErrorResultTooLarge, NonRetryable: true,
		Message: fmt.Sprintf("the result has %d bytes, the limit is %d", size, limit),
	}
}

// ended reports whether an error means that the attempt failed or that it obeyed
// the end of its context. A Failure is the task's own word and stands, except
// against a cancellation.
func ended(ctx context.Context, err error) events.Outcome {
	cause := context.Cause(ctx)
	_, own := errors.AsType[Failure](err)
	switch {
	case errors.Is(cause, ErrCancelled):
		return events.OutcomeCancelled
	case errors.Is(cause, ErrDrained) && !own:
		return events.OutcomeAbandoned
	case errors.Is(cause, ErrTimeout) && !own:
		return events.OutcomeTimedOut
	}
	return events.OutcomeFailed
}

func taskError(o events.Outcome, err error) *events.TaskError {
	e := events.TaskError{Type: errorType(o), Message: err.Error()}
	if own, ok := errors.AsType[Failure](err); ok {
		e = own.TaskError()
		if e.Type == "" {
			e.Type = events.ErrorTaskFailed
		}
	}
	e = e.Bounded()
	return &e
}

func errorType(o events.Outcome) string {
	switch o {
	case events.OutcomeCancelled:
		return events.ErrorCancelled
	case events.OutcomeTimedOut:
		return events.ErrorTimeout
	case events.OutcomeAbandoned:
		return events.ErrorLost
	default:
		return events.ErrorTaskFailed
	}
}
