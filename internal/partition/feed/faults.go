package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// A log that could not be read is left alone so long.
const (
	readPauseLeast = 250 * time.Millisecond
	readPauseMost  = 5 * time.Second
)

// logPlace is one partition of a topic that a router reads.
type logPlace struct {
	topic string
	p     int32
}

// readFault is a log that cannot be read. It is said once, and its end once.
type readFault struct {
	why   string
	since time.Time
	out   bool          // the client does not have it: what still comes of it is old
	pause time.Duration // before it is read again
	until time.Time     // that is then; zero: its next owner does
}

// failed deals with a log that cannot be read. Every poll would return the same
// error again, at once: so it is left alone, by the owner's successor as long as
// it takes to find out what happened to an input log, else for a pause.
func (r *Router) failed(topic string, p int32, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	at := logPlace{topic, p}
	if f := r.faults[at]; f != nil && f.out {
		return
	}
	switch box := r.boxes[p]; {
	case kafka.IsRemade(err) && !r.oldTopics:
		r.remade(topic, err)
	case box == nil || !kafka.IsDataLoss(err):
		r.fault(at, err)
		r.hold(at, true)
	default:
		r.cl.RemoveConsumePartitions(map[string][]int32{topic: {p}})
		r.lost(at, box, err)
	}
}

// remade gives a topic up that is not there any more as the client knows it: kgo
// takes no other one of its name before that.
func (r *Router) remade(topic string, err error) {
	r.cl.PurgeTopicsFromConsuming(topic)
	for p, box := range r.boxes { // order: each is told by itself
		r.lost(logPlace{topic, p}, box, err)
	}
}

// lost tells an owner that its input log is not what it was. Questions have no
// place to keep: those that somebody may still wait for are read again.
func (r *Router) lost(at logPlace, box *Mailbox, err error) {
	f := r.fault(at, err)
	f.out = true
	if at.topic == r.names.Queries() {
		return
	}
	f.until = time.Time{}
	source := r.source(at.topic)
	box.Put(func(b *loop.Batch) { b.Broken = append(b.Broken, loop.Broken{Source: source, Err: err}) })
}

func (r *Router) source(topic string) events.Source {
	if topic == r.names.Inbox() {
		return events.FromInbox
	}
	return events.FromCommands
}

// fault notes that a log cannot be read, and says so if that is news.
func (r *Router) fault(at logPlace, err error) *readFault {
	f := r.faults[at]
	if f == nil {
		f = &readFault{since: time.Now()}
		r.faults[at] = f
	}
	if f.why != err.Error() {
		f.why = err.Error()
		r.logger.Warn("a log cannot be read", "topic", at.topic, "partition", at.p, "error", err)
		r.tell(at, loop.Trouble{Why: f.why, Since: f.since})
	}
	f.pause = min(max(2*f.pause, readPauseLeast), readPauseMost)
	f.until = time.Now().Add(f.pause)
	return f
}

// recovered ends the fault of a log that has brought something.
func (r *Router) recovered(at logPlace) {
	if f := r.faults[at]; f != nil {
		r.logger.Info("a log is read again", "topic", at.topic, "partition", at.p)
		delete(r.faults, at)
		r.tell(at, loop.Trouble{})
	}
}

// tell lets the owner of an input log know why it cannot be read.
func (r *Router) tell(at logPlace, t loop.Trouble) {
	if box := r.boxes[at.p]; box != nil && at.topic != r.names.Queries() {
		s := r.source(at.topic)
		box.Do(func(p *loop.Processor) { p.CannotRead(s, t) })
	}
}

// settle leaves a log to its next owner.
func (r *Router) settle(at logPlace) {
	if f := r.faults[at]; f != nil {
		f.out, f.until = false, time.Time{}
	}
}

// nextPoll bounds a poll by the next log that is to be tried again.
func (r *Router) nextPoll(ctx context.Context) (context.Context, context.CancelFunc) {
	var next time.Time
	for _, f := range r.faults { // order: the earliest
		if !f.until.IsZero() && (next.IsZero() || f.until.Before(next)) {
			next = f.until
		}
	}
	if next.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, next)
}

// tryFaults reads the logs again whose pause is over.
func (r *Router) tryFaults() {
	now := time.Now()
	for at, f := range r.faults { // order: each is tried by itself
		if f.until.IsZero() || now.Before(f.until) {
			continue
		}
		f.until = time.Time{}
		if out := f.out; !out {
			r.hold(at, false)
		} else if r.boxes[at.p] != nil {
			f.out = false
			r.addQueries(at.p)
		}
	}
}

// hold stops and restarts the fetching of a log, beside the bounds of its owner.
func (r *Router) hold(at logPlace, held bool) {
	all := map[string][]int32{at.topic: {at.p}}
	switch box := r.boxes[at.p]; {
	case box != nil && at.topic != r.names.Queries():
		box.Hold(r.source(at.topic), held)
	case held:
		r.cl.PauseFetchPartitions(all)
	default:
		r.cl.ResumeFetchPartitions(all)
	}
}

// Identified tells the owners whose input topics are not what they take them for.
// A reader that was told of a topic late may read another one of its name: from a position
// that means nothing there.
func (r *Router) Identified(now Identity) {
	r.do(nil, func() {
		for p, id := range r.ids { // order: each is told by itself
			for _, s := range loop.Inputs {
				if box := r.boxes[p]; !now.Same(id, s) {
					box.Put(func(b *loop.Batch) {
						b.Broken = append(b.Broken, loop.Broken{Source: s, Err: fmt.Errorf("%s: %w", r.Topic(s), ErrRemade)})
					})
				}
			}
		}
	})
}
