package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// deletion is the body of a delete.
type deletion struct {
	Force bool `json:"force,omitempty"`
	By
}

// skipping is the body of a skip.
type skipping struct {
	Runnable string `json:"runnable"`
	By
}

// treat gives a workflow its command. A refusal is of this workflow; a fault ends the operation.
func (b *bulk) treat(ctx context.Context, id string) (o BulkOutcome, refusal, fault error) {
	if !b.cmd.skip {
		return b.send(ctx, id, b.o.Operation, b.cmd.body)
	}
	failed, refusal, fault := b.failed(ctx, id)
	if refusal != nil || fault != nil {
		return outcomeOf(refusal), refusal, fault
	}
	o = BulkUnchanged
	for i, r := range failed {
		if i > 0 { // of the first the turn is taken
			if err := b.pace.take(ctx); err != nil {
				return o, nil, err
			}
		}
		one, refusal, fault := b.send(ctx, id, b.o.Operation+"/"+r, skipping{r, b.cmd.by})
		switch {
		case fault != nil:
			return o, nil, fault
		case errors.Is(refusal, &Error{Code: "nothing_to_skip"}): // it was retried meanwhile
		case refusal != nil:
			return one, refusal, nil
		case one == BulkWritten || o != BulkWritten:
			o = one
		}
	}
	return o, nil, nil
}

// failed are the runnables of a workflow that a skip means.
func (b *bulk) failed(ctx context.Context, id string) (ids []string, refusal, fault error) {
	o := PageOptions{Status: RunnableFailed, Component: b.cmd.of, Limit: bulkPage}
	for {
		var page *Page[Runnable]
		err := b.patiently(ctx, func() (err error) {
			page, err = b.c.Runnables(ctx, id, o)
			return err
		})
		if noComponent(err) {
			return nil, nil, nil
		}
		if refusal, fault = sorted(ctx, err); err != nil {
			return nil, refusal, fault
		}
		for _, r := range page.Items {
			ids = append(ids, r.ID)
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			return ids, nil, nil
		}
	}
}

// noComponent reports whether a workflow has no component of a name: nothing of it failed.
func noComponent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == "invalid_field" && e.Path == "component"
}

// send gives one command, under an ID that it has whenever it is given again.
func (b *bulk) send(ctx context.Context, id, key string, body any) (o BulkOutcome, refusal, fault error) {
	var a Answer
	err := b.patiently(ctx, func() (err error) {
		a, err = b.c.send(ctx, b.cmd.name, id, key, body, UntilDecided)
		return err
	})
	if err != nil {
		refusal, fault = sorted(ctx, err)
		return outcomeOf(refusal), refusal, fault
	}
	switch {
	case a.Written:
		return BulkWritten, nil, nil
	case a.Unchanged:
		return BulkUnchanged, nil, nil
	}
	return BulkDone, nil, nil
}

// outcomeOf is what became of a command that is not done.
func outcomeOf(refusal error) BulkOutcome {
	if e, ok := errors.AsType[*Error](refusal); ok && (e.Status == 0 || e.Status < 500) {
		return BulkRefused
	}
	return BulkFailed
}

// sorted tells an error that is about one workflow from one that ends the operation: who is
// not permitted to do this to one workflow is not to the others, and who does
// not answer does not for them.
func sorted(ctx context.Context, err error) (refusal, fault error) {
	e, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return nil, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case ok && (busy(e) || slices.Contains([]string{"unauthenticated", "forbidden", "unsupported", "http_status"}, e.Code)):
		return nil, err
	}
	return err, nil
}

// busy reports whether the same request may be answered in a moment.
func busy(e *Error) bool {
	return e.Status == 429 || e.Status == 503 || e.Code == ErrUnavailable.Code || e.Code == "no_answer"
}

const (
	busyPause = time.Second // where the answer does not say how long to wait
	busyMost  = 10 * time.Second
)

// patiently asks until there is an answer, all others wait with it.
func (b *bulk) patiently(ctx context.Context, ask func() error) error {
	began := time.Now()
	for pause := busyPause; ; pause = min(2*pause, busyMost) {
		err := ask()
		e, ok := errors.AsType[*Error](err)
		if !ok || !busy(e) || time.Since(began) >= b.o.Patience {
			return err
		}
		b.pace.hold(cmp.Or(e.RetryAfter, pause))
		if err := b.pace.take(ctx); err != nil {
			return err
		}
	}
}
