package equivalence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// strange marks the records that strangers write; those that nobody can
// understand have the value bad.
const (
	strange = "strange"
	bad     = "bad"
)

// strangers write what does not belong into the input logs. What they wrote in
// vain has to be in the dlq, and nothing else.
type strangers struct {
	w   *world
	d   workload.Dice
	out *kgo.Client

	number    int
	vain      map[place]string // records that nobody understands, by what they are
	written   map[place]string // commands that are understood, as workload.CommandID names them
	misplaced map[string]bool  // commands in the wrong partition
}

// meddle lets strangers write until the returned function ends it.
func (w *world) meddle(seed uint64) (end func()) {
	out, err := kafka.NewEffectsProducer(w.cluster.Config)
	if err != nil {
		w.t.Fatal(err)
	}
	s := &strangers{w: w, d: workload.NewDice(seed), out: out, vain: map[place]string{}, written: map[place]string{}, misplaced: map[string]bool{}}
	w.strangers = s
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for workload.Pause(ctx, s.d.Millis(0, 3000)) == nil {
			s.write()
		}
	})
	return func() {
		stop()
		running.Wait()
		synctest.Wait()
		out.Close()
		w.settle()
	}
}

// settle waits until planners have read what is in the commands now, and what
// they have forwarded: they answer no question before.
func (w *world) settle() {
	ctx, cancel := w.within()
	defer cancel()
	for range 2 {
		for p := range w.plan.Partitions {
			err := persist(ctx, func(ctx context.Context) error {
				_, err := w.client.Get(ctx, w.nobody(p))
				return err
			})
			if !errors.Is(err, client.ErrNotFound) {
				w.t.Errorf("asking partition %d for what nobody started: %v", p, err)
			}
		}
		synctest.Wait()
	}
}

// nobody is the id of a workflow of a partition that nobody has started.
func (w *world) nobody(p int32) string {
	for i := 0; ; i++ {
		if id := fmt.Sprintf("nobody-%d", i); kafka.PartitionFor([]byte(id), w.plan.Partitions) == p {
			return id
		}
	}
}

// write writes one record.
func (s *strangers) write() {
	s.number++
	wf := workload.Pick(s.d, s.w.plan.Workflows...)
	commands, inbox, key := s.w.cluster.Topics.Commands(), s.w.cluster.Topics.Inbox(), []byte(wf.ID)
	garbage := fmt.Appendf(nil, "{no json, for the %d. time", s.number)
	switch s.d.IntN(8) {
	case 0:
		s.inVain("an undecodable command", kafka.Keyed(commands, key, garbage, command("start")))
	case 1:
		s.inVain("an undecodable outcome", kafka.Keyed(inbox, key, garbage))
	case 2:
		s.inVain("wrong headers", kafka.Keyed(commands, key, []byte(`{}`), workload.Pick(s.d,
			kafka.Header(events.HeaderType, []byte("of nobody")), command("explode"),
			kafka.Header("content-type", []byte("application/x-nothing")), kafka.Header(events.HeaderID, nil))))
	case 3:
		s.inVain("no key", kafka.Keyed(commands, nil, []byte(`{}`), command("checkpoint")))
	case 4:
		topic := workload.Pick(s.d, commands, inbox)
		s.inVain("a record of the largest size", kafka.Keyed(topic, key, s.large(topic, len(key)), command("start")))
	case 5: // obeyed, or refused with what it holds
		large := fmt.Appendf(nil, `{"input":"%s"}`, s.large(commands, 200))
		s.send("a command of the largest size", kafka.Keyed(commands, fmt.Appendf(nil, "stranger-%d", s.number), large, command("input"), s.id()))
	case 6:
		s.send("a foreign partitioner", kafka.Placed(commands, s.anywhere(), key, []byte(`{}`), command("checkpoint"), s.id()))
	case 7:
		outcome := &events.TaskOutcome{Token: []byte("not a token of ours"), Outcome: events.OutcomeCompleted}
		s.send("a foreign partitioner", kafka.Placed(inbox, s.anywhere(), key, events.EncodeInbox(outcome)))
	}
}

func command(name string) kgo.RecordHeader {
	return kafka.Header(events.HeaderType, []byte(events.CommandType(name)))
}

func (s *strangers) id() kgo.RecordHeader {
	return kafka.Header(events.HeaderID, fmt.Appendf(nil, "strange-%d", s.number))
}

func (s *strangers) anywhere() int32 { return int32(s.d.IntN(int(s.w.plan.Partitions))) }

// around is what a batch of one record has besides its value, at most.
const around = 400

// large is as much text as a record of a topic may hold beside others. It cannot
// be compressed to much less.
func (s *strangers) large(topic string, others int) []byte {
	b := make([]byte, int(topics.Default().MaxBytes(s.w.cluster.Topics.Names, topic))-others-around)
	for i := range b {
		b[i] = byte(' ' + 3 + s.d.IntN(25)) // without quotes
	}
	return b
}

// inVain writes what nobody understands.
func (s *strangers) inVain(what string, r *kgo.Record) {
	r.Headers = append(r.Headers, kafka.Header(strange, []byte(bad)))
	if at, ok := s.produce(what, r); ok {
		s.vain[at] = what
	}
}

// send writes what is understood, if it is where it belongs.
func (s *strangers) send(what string, r *kgo.Record) {
	r.Headers = append(r.Headers, kafka.Header(strange, nil))
	at, ok := s.produce(what, r)
	switch {
	case !ok || at.log != events.FromCommands:
	case at.partition == kafka.PartitionFor(r.Key, s.w.plan.Partitions):
		s.written[at] = workload.CommandID(r)
	default:
		s.misplaced[workload.CommandID(r)] = true
	}
}

func (s *strangers) produce(what string, r *kgo.Record) (at place, ok bool) {
	if err := s.out.ProduceSync(context.Background(), r).FirstErr(); err != nil {
		s.w.t.Errorf("writing %s: %v", what, err)
		return place{}, false
	}
	s.w.happened(what, "topic", r.Topic, "partition", r.Partition, "offset", r.Offset)
	at = place{events.FromCommands, r.Partition, r.Offset}
	if r.Topic == s.w.cluster.Topics.Inbox() {
		at.log = events.FromInbox
	}
	return at, true
}

// auditLetters holds the dlq against what strangers wrote in vain, and against what
// was refused and asked for no answer. A letter may come twice, and cannot be made
// again when its record is gone.
func (w *world) auditLetters(ctx context.Context, journals [][]*events.Record) {
	w.t.Helper()
	vain := unheard(journals)
	if w.strangers != nil {
		maps.Copy(vain, w.strangers.vain)
	}
	topicOf := w.inputTopics()
	letters := map[place]bool{}
	w.must(w.readAll(ctx, w.cluster.Topics.DLQ(), func(k *kgo.Record) {
		var l struct {
			Topic     string
			Partition int32
			Offset    int64
			Reason    string
		}
		w.must(json.Unmarshal(k.Value, &l))
		at := place{events.FromCommands, l.Partition, l.Offset}
		if l.Topic == topicOf[events.FromInbox] {
			at.log = events.FromInbox
		}
		if letters[at] = true; vain[at] == "" {
			w.t.Errorf("%+v is in the dlq: %s", at, l.Reason)
		}
	}))
	var missing []string
	for at, what := range vain {
		begin, _, err := w.bounds(ctx, topicOf[at.log], at.partition)
		w.must(err)
		if !letters[at] && at.offset >= begin {
			missing = append(missing, fmt.Sprintf("%s at %+v", what, at))
		}
	}
	if len(missing) > 0 {
		w.t.Errorf("not in the dlq: %s", strings.Join(missing, ", "))
	}
}

// unheard are the commands that were refused without anybody to tell.
func unheard(journals [][]*events.Record) map[place]string {
	all := map[place]string{}
	for p, records := range journals {
		for _, rec := range records {
			if len(rec.Events) == 0 || rec.Input.Source != events.FromCommands || rec.ReplyTo.Address != "" {
				continue
			}
			if refused, is := rec.Events[0].(*events.CommandRefused); is {
				all[place{events.FromCommands, int32(p), rec.Input.Offset}] = "a command that was refused: " + refused.Code
			}
		}
	}
	return all
}
