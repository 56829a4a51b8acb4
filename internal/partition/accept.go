package partition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
)

// LossError is records of a log that are gone, of which nobody has said that the
// partition may go on without them: of an input log unread ones, of the journal what
// the state rests on.
type LossError struct {
	Partition int32
	Log       string
	From, To  int64  // offsets, To behind the last one
	What      string // is known of the log
}

// inputLoss is what is gone unread of an input log.
func inputLoss(p int32, s events.Source, from, to int64) *LossError {
	what := fmt.Sprintf("begins at offset %d, and offsets %d to %d are gone unread", to, from, to-1)
	return &LossError{Partition: p, Log: s.String(), From: from, To: to, What: what}
}

func (e *LossError) Error() string {
	return fmt.Sprintf("%s partition %d %s; bring them back, or go on without them: "+
		"heddle partitions accept-loss %d --log %s --from %d --to %d --by WHO --why WHY",
		e.Log, e.Partition, e.What, e.Partition, e.Log, e.From, e.To)
}

// lossCommand is what Error tells an operator to type.
var lossCommand = regexp.MustCompile(`accept-loss (\d+) --log (\w+) --from (\d+) --to (\d+)`)

// LossIn is the loss whose command stands in the reason of a blocked partition, as an
// operator reads it: without What. ok is false where there is none.
func LossIn(reason string) (loss LossError, ok bool) {
	m := lossCommand.FindStringSubmatch(reason)
	if m == nil {
		return LossError{}, false
	}
	partition, err := strconv.ParseInt(m[1], 10, 32)
	from, bad := strconv.ParseInt(m[3], 10, 64)
	to, worse := strconv.ParseInt(m[4], 10, 64)
	if errors.Join(err, bad, worse) != nil {
		return LossError{}, false
	}
	return LossError{Partition: int32(partition), Log: m[2], From: from, To: to}, true
}

// accepts reports whether an operator's word is about exactly this loss: a later one
// needs another word.
func (e *LossError) accepts(b *events.AcceptLoss) bool {
	return b.Log == e.Log && b.From == e.From && b.To == e.To
}

// acceptances are the operators' words that a blocked owner has read in commands. An owner that
// tries again reads only what has come since.
type acceptances struct {
	topic []byte // the topic's id
	next  int64  // offset to read
	words []heardWord
}

// heardWord is a command to the partition itself, read ahead of its turn.
type heardWord struct {
	cmd   *events.Command
	stamp int64 // Unix ms, of its record
}

// mostHeard bounds the acceptances that are kept; older ones are of other losses.
const mostHeard = 64

// askLosses finds out which records of the input logs are gone unread, and whether an
// operator accepts that. It comes before the takeover: a blocked claimant owns nothing.
func (r *tenure) askLosses(ctx context.Context) error {
	if r.host.Flaws.SilentLosses.On() {
		return nil
	}
	r.seekInputs()
	for _, s := range loop.Inputs {
		loss, err := r.loss(ctx, s)
		if err != nil {
			return err
		}
		if loss == nil {
			continue
		}
		if err := r.accepted(ctx, s, loss); err != nil {
			return err
		}
	}
	return nil
}

// loss is what is gone unread of an input log; nil: nothing. Of a topic that was made anew
// nothing is known to be.
func (r *tenure) loss(ctx context.Context, s events.Source) (*LossError, error) {
	l := r.proc.Input(s)
	if l.Row.Remade || len(l.Row.TopicID) > 0 && !bytes.Equal(l.Row.TopicID, r.id.Of(s)) {
		return nil, nil
	}
	log, err := r.read.spanOf(ctx, r.host.router.Topic(s), r.o.p)
	if err != nil {
		return nil, err
	}
	if l.Next >= log.Start {
		return nil, nil
	}
	return inputLoss(r.o.p, s, l.Next, log.Start), nil
}

// accepted looks for an operator's word about a loss of an input log; without one the
// loss is its error.
func (r *tenure) accepted(ctx context.Context, s events.Source, loss *LossError) error {
	word, err := r.heardOf(ctx, loss, r.proc.Input(events.FromCommands).Next, func(w *heardWord) bool {
		return r.proc.Undecided(w.cmd, w.stamp)
	})
	switch {
	case err != nil:
		return err
	case r.proc.Err() != nil:
		return r.proc.Err()
	case word == nil:
		return loss
	}
	r.words[s] = word
	return nil
}

// heardOf is the first word about a loss, said in commands from an offset on, that counts;
// nil if there is none.
func (r *tenure) heardOf(ctx context.Context, loss *LossError, undecided int64, counts func(*heardWord) bool) (*events.Command, error) {
	if err := r.hear(ctx, undecided); err != nil {
		return nil, err
	}
	for i := range r.o.heard.words {
		if w := &r.o.heard.words[i]; loss.accepts(w.cmd.Body.(*events.AcceptLoss)) && counts(w) {
			return w.cmd, nil
		}
	}
	return nil, nil
}

// hear reads what operators have said of losses in commands, which nobody decides yet,
// from an offset on.
func (r *tenure) hear(ctx context.Context, undecided int64) error {
	h, topic := &r.o.heard, r.host.names.Commands()
	if !bytes.Equal(h.topic, r.id.Commands) {
		*h = acceptances{topic: r.id.Commands}
	}
	log, err := r.read.spanOf(ctx, topic, r.o.p)
	if err != nil {
		return err
	}
	if h.next > log.End { // it has lost what was read
		h.next = log.Start
	}
	from := max(h.next, log.Start, min(undecided, log.End))
	err = r.read.read(ctx, topic, r.o.p, from, log.End, func(k *kgo.Record) error {
		cmd := r.wordOf(k)
		if cmd == nil {
			return nil
		}
		if _, ok := cmd.Body.(*events.AcceptLoss); ok {
			h.words = append(h.words[max(0, len(h.words)+1-mostHeard):], heardWord{cmd, k.Timestamp.UnixMilli()})
		}
		return nil
	})
	if err == nil {
		h.next = max(from, log.End)
	}
	return err
}

// wordOf is a command to the partition itself, or nil for any other record. One that
// cannot be read is rejected in its turn.
func (r *tenure) wordOf(k *kgo.Record) *events.Command {
	if !strings.HasPrefix(string(k.Key), loop.PartitionPrefix) || string(k.Key) != events.PartitionWorkflow(r.o.p) {
		return nil
	}
	cmd, bad := events.ParseCommand(k.Key, loop.HeadersOf(k), append([]byte{}, k.Value...), loop.PlaceID(k))
	if bad != nil {
		return nil
	}
	return cmd
}
