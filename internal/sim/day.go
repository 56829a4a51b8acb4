package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// anotherDay is how many seeds there are to one whose run has a second day.
const anotherDay = 8

// forgets is after how many records of a reign its ledger forgets what is older
// than two windows, at most.
const forgets = 64

// nextDay lets the two windows pass for which the ledger keeps its entries, while
// nobody is there, and then an operator let a partition read all its commands again. It
// must come to nothing: what the ledger has forgotten is refused for its age.
func (w *world) nextDay() {
	w.leaveInOrder()
	night := 2*w.settings().Complete().Window + time.Hour
	w.note("%v pass, and everybody comes again", night)
	time.Sleep(night)
	for slot := range w.nodes {
		w.restart(slot)
	}
	w.work(func() {
		if err := w.readAgain(w.ctx); err != nil && w.ctx.Err() == nil {
			w.fail("the next day: %w", err)
		}
	})
	w.until("everything is read again", func() bool { return !w.busy() })
}

// readAgain does enough for the ledger to forget, has the commands read again,
// and looks at the workflows when that is done.
func (w *world) readAgain(ctx context.Context) error {
	c := w.caller("next-day")
	names, id := w.c.names, w.plan.Workflows[0].ID
	for range forgets {
		c.send(kafka.Keyed(names.Commands(), []byte(id), []byte("{}"), kafka.Header(events.HeaderType, []byte(events.CommandType("retry")))))
	}
	p := kafka.PartitionFor([]byte(id), w.plan.Partitions)
	w.c.mu.Lock()
	first := w.c.log(names.Commands(), p).start
	w.c.mu.Unlock()
	order := func(name string, body map[string]any) error {
		body["by"] = "an operator"
		_, err := c.command(ctx, name, events.PartitionWorkflow(p), "next-day-"+name, body)
		return err
	}
	if err := order("request_replay", map[string]any{"cursor": fmt.Sprintf("commands@%d", first)}); err != nil {
		return err
	}
	if err := order("checkpoint", map[string]any{}); err != nil { // it stands behind all that is read again
		return err
	}
	for _, u := range w.users {
		if err := u.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}
