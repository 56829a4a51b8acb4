package partition

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition/defect"
	"github.com/heddle-run/heddle/internal/partition/feed"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// kafkaLog is Log over the clients that a process shares among its partitions.
// Outcomes go to the owner's mailbox; after ctx has ended nothing is sent.
type kafkaLog struct {
	ctx     context.Context
	host    *Host
	p       int32
	box     *feed.Mailbox
	journal Producer // of this tenure
}

var _ loop.Log = (*kafkaLog)(nil)

// Append implements Log.
func (l *kafkaLog) Append(rec *kgo.Record, seq uint64) {
	l.journal.Produce(l.ctx, rec, func(r *kgo.Record, err error) {
		l.within(func() { l.box.Appended(loop.Appended{Seq: seq, Offset: r.Offset, Err: err}) })
	})
}

// Produce implements Log.
func (l *kafkaLog) Produce(o *loop.Outgoing) {
	if o.Kind == machine.EmitEffect {
		l.emit(o)
		return
	}
	if o.Kind != machine.TaskEffect {
		l.host.fillEffect(o)
		if o.Kind == machine.StatusEffect {
			l.host.latest.put(l, o)
			return
		}
		l.send(l.host.effects, o)
		return
	}
	at := l.Destination(o)
	if at.Partition < 0 {
		l.host.queues.await(l)
		l.box.Produced(loop.Produced{Out: o, Unavailable: at, Err: errNoQueue})
		return
	}
	o.Fill(at.Topic, at.Partition)
	o.Record.Headers = kafka.TaskFormat
	l.send(l.host.effects, o)
}

// emit produces an event for other systems. It waits for a topic that is not there, and
// never gets into one of ours: what is there would be believed.
func (l *kafkaLog) emit(o *loop.Outgoing) {
	if strings.HasPrefix(o.Topic, l.host.names.Prefix()) {
		l.box.Produced(loop.Produced{Out: o, Err: fmt.Errorf("the topic %q belongs to Heddle, as all do that begin with %q", o.Topic, l.host.names.Prefix())})
		return
	}
	at := l.Destination(o)
	if at.Partition < 0 {
		l.host.queues.await(l)
		l.box.Produced(loop.Produced{Out: o, Unavailable: at, Err: fmt.Errorf("there is no topic %q, or it is not known yet", o.Topic)})
		return
	}
	l.host.fillEffect(o)
	l.send(l.host.effects, o)
}

var errNoQueue = errors.New("the queue has no topic, or none that is known yet; heddle topics apply --queue makes it")

// Destination implements Log. An attempt goes to its partition of the queue, what
// else there is where its key belongs.
func (l *kafkaLog) Destination(o *loop.Outgoing) loop.Destination {
	at := loop.Destination{Topic: l.host.topicOf(o), Partition: -1, Latest: o.Kind == machine.StatusEffect}
	n := l.host.queues.partitions(at.Topic)
	at.Of = n
	switch {
	case n == 0:
	case o.Kind == machine.TaskEffect: // counted from the workflow's home (E2)
		at.Partition = int32((uint64(l.p) + o.Spread) % uint64(n))
	default:
		at.Partition = kafka.PartitionFor([]byte(o.Key), n)
	}
	return at
}

// send produces the record of an effect and reports what became of it.
func (l *kafkaLog) send(client Producer, o *loop.Outgoing) {
	client.Produce(l.ctx, &o.Record, func(r *kgo.Record, err error) {
		l.within(func() {
			switch {
			case l.over(o, r, err):
			case kafka.IsTooLarge(err):
				l.judge(r, err, func() { l.box.Produced(loop.Produced{Out: o, Err: err}) }, func(err error) { l.shut(o, err) })
			default:
				l.shut(o, err)
			}
		})
	})
}

// over reports the outcome of an effect. It returns false if there is none yet,
// as the broker refused it, but not for good.
func (l *kafkaLog) over(o *loop.Outgoing, r *kgo.Record, err error) bool {
	switch {
	case err == nil:
		l.box.Produced(loop.Produced{Out: o, Partition: r.Partition, Offset: r.Offset})
	case refused(err) && !l.mayFit(r, err):
		l.box.Produced(loop.Produced{Out: o, Err: err})
	case l.ctx.Err() == nil && !errors.Is(err, kgo.ErrClientClosed):
		return false
	}
	return true
}

// shut gives an effect back whose log takes nothing for now: it is sent again
// when the lease and the log allow it (E5).
func (l *kafkaLog) shut(o *loop.Outgoing, err error) {
	l.box.Produced(loop.Produced{Out: o, Unavailable: l.Destination(o), Err: err})
}

// mayFit says of a record that was refused as too large whether it is not larger than
// what is known of its topic: a batch is refused whole, and the limit may have been
// lowered.
func (l *kafkaLog) mayFit(r *kgo.Record, err error) bool {
	known := l.host.Kafka.Limits.Of(r.Topic, topics.Default().MaxBytes(l.host.names, r.Topic))
	return kafka.IsTooLarge(err) && kafka.BatchBytes(r) <= int(known)
}

// judge finds out beside the loop whether a record is too large, or came in a batch
// that was, and says so in one of two ways.
func (l *kafkaLog) judge(r *kgo.Record, err error, forGood func(), forNow func(error)) {
	go func() {
		var less bool
		bad := defect.Caught(l.host.logger, l.host.Stats, func() (err error) {
			less, err = l.host.learnLimit(l.ctx, r.Topic, r.Timestamp)
			return err
		})
		switch {
		case l.ctx.Err() != nil: // nobody waits for it
		case bad != nil || less && l.mayFit(r, err):
			forNow(errors.Join(err, bad))
		default:
			forGood()
		}
	}()
}

// releaseAgain asks the owner to send an effect that was released before: the
// lease may have lost its margin since (E5).
func (l *kafkaLog) releaseAgain(o *loop.Outgoing) {
	l.box.Do(func(p *loop.Processor) { p.ReleaseAgain(o) })
}

// refused reports whether the broker will never take a record.
func refused(err error) bool {
	return kafka.IsTooLarge(err) || errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.InvalidTopicException)
}

// AskEnds implements Log.
func (l *kafkaLog) AskEnds() { l.host.ends.ask(l.p, l.box) }

// AskDecided implements Log.
func (l *kafkaLog) AskDecided() { go l.host.askDecided(l.ctx, l.p, l.box) }

// AskQueue implements Log.
func (l *kafkaLog) AskQueue(queue string) { go l.host.askQueue(l.ctx, queue, l.box) }

// Took implements Log.
func (l *kafkaLog) Took(s events.Source, records, bytes int) { l.box.Took(s, records, bytes) }

// Seek implements Log.
func (l *kafkaLog) Seek(s events.Source, offset int64) {
	l.host.router.Seek(l.p, l.box, s, offset)
}

// Pause implements feed.Flow.
func (l *kafkaLog) Pause(s events.Source) {
	l.host.router.Pause(l.host.router.Topic(s), l.p)
}

// Resume implements feed.Flow.
func (l *kafkaLog) Resume(s events.Source) {
	l.host.router.Resume(l.host.router.Topic(s), l.p)
}
