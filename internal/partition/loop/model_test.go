package loop

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// model drives a Processor without any I/O: a log that acknowledges when it is
// told to, a store in memory, a clock that the test sets.
type model struct {
	t     testing.TB
	p     *Processor
	now   time.Time
	batch Batch

	journal  []*kgo.Record // appended
	acked    int           // of them, acknowledged
	produced []*Outgoing   // released
	asked    int           // questions about ends
	decided  int           // and about how far transactions are decided
	queues   []string
	sought   map[events.Source]int64
	offsets  [Logs]int64 // of the input logs

	memory  rows.Memory // what the store has
	pending []pendingWrite
	stored  journal.Mark
}

type pendingWrite struct {
	n uint64
	w rows.Write
}

func newModel(t testing.TB, settings Settings) *model {
	t.Helper()
	names, err := topics.NewNames("")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{t: t, now: time.UnixMilli(1_000_000), sought: map[events.Source]int64{}}
	settings = settings.Complete()
	if settings.RecordBytes == 0 {
		settings.RecordBytes = 1 << 20
	}
	m.p = NewProcessor(Config{
		Partition: 0, Partitions: 1, Names: names, Settings: settings,
		Machine: &looptest.Counter{Key: looptest.Secret, Panic: "cursed"}, State: m, Stored: storedModel{m}, Log: m, Clock: m,
		Stats: &Stats{}, Logger: slog.New(slog.DiscardHandler),
	})
	m.p.epoch, m.p.seq = 1, 1
	m.p.lease = runtime.Lease{Owner: "me", LeaseID: "l", LeasedUntil: m.now.Add(settings.Lease).UnixMilli(), Epoch: 1}
	return m
}

// Now implements Clock.
func (m *model) Now() time.Time { return m.now }

// Append implements Log.
func (m *model) Append(rec *kgo.Record, _ uint64) { m.journal = append(m.journal, rec) }

// Produce implements Log.
func (m *model) Produce(o *Outgoing) { m.produced = append(m.produced, o) }

// Destination implements Log.
func (m *model) Destination(o *Outgoing) Destination {
	return Destination{Topic: KindName(o.Kind) + o.Queue}
}

// AskEnds implements Log.
func (m *model) AskEnds() { m.asked++ }

// AskDecided implements Log.
func (m *model) AskDecided() { m.decided++ }

// AskQueue implements Log.
func (m *model) AskQueue(queue string) { m.queues = append(m.queues, queue) }

// Took implements Log.
func (m *model) Took(events.Source, int, int) {}

// Seek implements Log.
func (m *model) Seek(s events.Source, offset int64) { m.sought[s] = offset }

// Get implements rows.Source.
func (m *model) Get(k rows.Key, fresh rows.Maker) rows.Row {
	for i := len(m.pending) - 1; i >= 0; i-- {
		if m.pending[i].w.Key == k {
			return m.pending[i].w.Row
		}
	}
	return m.memory.Get(k, fresh)
}

// Scan implements rows.Source.
func (m *model) Scan(k rows.Key, fresh rows.Maker, visit func(rows.Key, rows.Row) bool) {
	var all rows.Memory
	for _, at := range m.memory.Keys() {
		all.Commit([]rows.Write{{Key: at, Row: m.memory.Get(at, nil)}})
	}
	for _, p := range m.pending {
		all.Commit([]rows.Write{p.w})
	}
	all.Scan(k, fresh, visit)
}

// storedModel is StoredRows of a model.
type storedModel struct{ m *model }

// Get implements StoredRows.
func (s storedModel) Get(k rows.Key, into rows.Row) (bool, error) {
	row := s.m.memory.Get(k, nil)
	if row == nil {
		return false, nil
	}
	return true, wire.Unmarshal(wire.Marshal(row), into)
}

// Scan implements StoredRows.
func (s storedModel) Scan(from rows.Key, visit func(rows.Key, []byte) bool) error {
	s.m.memory.Scan(from, nil, func(k rows.Key, row rows.Row) bool { return visit(k, wire.Marshal(row)) })
	return nil
}

// ScanTable implements StoredRows.
func (s storedModel) ScanTable(t rows.Table, visit func(rows.Key, []byte) bool) error {
	for _, k := range s.m.memory.Keys() {
		if k.Table == t && !visit(k, wire.Marshal(s.m.memory.Get(k, nil))) {
			break
		}
	}
	return nil
}

// Apply implements State.
func (m *model) Apply(writes []rows.Write, n uint64) {
	for _, w := range writes {
		m.pending = append(m.pending, pendingWrite{n, w})
	}
}

// Dirty implements State: a map has no checkpoints.
func (m *model) Dirty() int { return 0 }

// Expect implements State: a map has nothing to fetch ahead.
func (m *model) Expect([][]byte) {}

// Fresh implements State.
func (m *model) Fresh(workflow string) {
	if rows.Get[looptest.Tally](rows.Begin(m), looptest.HeadKey(workflow)) != nil {
		m.t.Errorf("%s is called fresh", workflow)
	}
}

// Commit implements State.
func (m *model) Commit(n uint64, at journal.Mark, more []rows.Write) error {
	for len(m.pending) > 0 && m.pending[0].n <= n {
		m.memory.Commit([]rows.Write{m.pending[0].w})
		m.pending = m.pending[1:]
	}
	m.memory.Commit(more)
	m.stored = at
	return nil
}

// step runs the loop once with what has arrived.
func (m *model) step() error {
	b := m.batch
	m.batch = Batch{}
	return m.p.Step(&b)
}

func (m *model) mustStep() {
	m.t.Helper()
	if err := m.step(); err != nil {
		m.t.Fatal(err)
	}
}

// ack acknowledges everything that was appended, and steps until nothing more
// is appended.
func (m *model) ack() {
	m.t.Helper()
	for m.acked < len(m.journal) {
		for ; m.acked < len(m.journal); m.acked++ {
			m.batch.Appended = append(m.batch.Appended, Appended{Seq: m.seqOf(m.acked), Offset: int64(m.acked + 1)})
		}
		m.mustStep()
	}
}

func (m *model) seqOf(i int) uint64 {
	h, err := journal.ParseHeaders(m.journal[i].Headers)
	if err != nil {
		m.t.Fatal(err)
	}
	return h.Position.Seq
}

// record is the ith journal record.
func (m *model) record(i int) *events.Record {
	m.t.Helper()
	if i >= len(m.journal) {
		m.t.Fatalf("the journal has %d records, want more than %d", len(m.journal), i)
	}
	rec, err := journal.Decode(m.journal[i])
	if err != nil {
		m.t.Fatal(err)
	}
	return rec
}

// names are the event names of the ith record.
func (m *model) names(i int) string {
	m.t.Helper()
	all := ""
	for _, e := range m.record(i).Events {
		all += events.Name(e) + " "
	}
	return all
}

func (m *model) input(s events.Source, key, value string, headers ...kgo.RecordHeader) *kgo.Record {
	topic := m.p.Names.Commands()
	if s == events.FromInbox {
		topic = m.p.Names.Inbox()
	}
	rec := &kgo.Record{Topic: topic, Key: []byte(key), Value: []byte(value), Headers: headers, Offset: m.offsets[s], Timestamp: m.now}
	m.offsets[s]++
	m.batch.Inputs[s] = append(m.batch.Inputs[s], rec)
	return rec
}

// command puts a command with an id and a caller into the log.
func (m *model) command(id, workflow, name, body string) *kgo.Record {
	return m.input(events.FromCommands, workflow, body, kafka.Header(events.HeaderID, []byte(id)),
		kafka.Header(events.HeaderType, []byte(events.CommandType(name))), kafka.Header(events.HeaderReplyTo, []byte("tester")))
}

// outcome puts the outcome of a released task into the inbox.
func (m *model) outcome(task *Outgoing, result string) {
	m.report(task, func(token []byte) events.InboxMessage {
		return &events.TaskOutcome{Token: token, Outcome: events.OutcomeCompleted, Result: json.RawMessage(result)}
	})
}

// report puts what a worker says of a released task into the inbox.
func (m *model) report(task *Outgoing, msg func(token []byte) events.InboxMessage) {
	var t events.Task
	if err := wire.Unmarshal(task.Value, &t); err != nil {
		m.t.Fatal(err)
	}
	m.input(events.FromInbox, task.Key, string(events.EncodeInbox(msg(t.Token))))
}

// of are the released effects of a kind.
func (m *model) of(kind machine.EffectKind) []*Outgoing {
	var all []*Outgoing
	for _, o := range m.produced {
		if o.Kind == kind {
			all = append(all, o)
		}
	}
	return all
}

// reply is the nth reply that was released.
func (m *model) reply(n int) events.Reply {
	m.t.Helper()
	all := m.of(machine.ReplyEffect)
	if n >= len(all) {
		m.t.Fatalf("%d replies were released, want more than %d", len(all), n)
	}
	var r events.Reply
	if err := json.Unmarshal(all[n].Value, &r); err != nil {
		m.t.Fatal(err)
	}
	return r
}

// delivered acknowledges every released effect.
func (m *model) delivered() {
	for i, o := range m.produced {
		m.batch.Produced = append(m.batch.Produced, Produced{Out: o, Partition: 0, Offset: int64(i)})
	}
}

// ends answers the question about the ends with what is in the logs now.
func (m *model) ends() {
	m.batch.Ends = append(m.batch.Ends, Ends{End: m.offsets})
}

// inboxRead tells the ends to the decisions that asked for them.
func (m *model) inboxRead() {
	m.t.Helper()
	m.ends()
	m.mustStep()
}

// running starts a workflow with one open attempt and returns its task.
func (m *model) running(workflow string) *Outgoing {
	m.t.Helper()
	m.command("start-"+workflow, workflow, "start", `{"definition":"counter"}`)
	m.command("input-"+workflow, workflow, "input", `{"input":1}`)
	m.mustStep()
	m.ack()
	tasks := m.of(machine.TaskEffect)
	if len(tasks) == 0 {
		m.t.Fatal("no task was released")
	}
	return tasks[len(tasks)-1]
}

func (m *model) sum(workflow string) int64 {
	return rows.Get[looptest.Tally](rows.Begin(m), looptest.HeadKey(workflow)).Sum
}

func (m *model) String() string {
	return fmt.Sprintf("%d records, %d effects", len(m.journal), len(m.produced))
}

// soughtAt begins the records that were read from an offset.
func soughtAt(offset int64) *kgo.Record { return &kgo.Record{Offset: offset} }
