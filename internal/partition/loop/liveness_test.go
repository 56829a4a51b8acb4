package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// givenUp are ways in which an open attempt is found to be lost, of a workflow
// whose one attempt is out at offset 5 of its queue.
var givenUp = map[string]func(m *model, task *Outgoing){
	"its worker fell silent": func(m *model, task *Outgoing) {
		m.report(task, func(token []byte) events.InboxMessage { return &events.TaskNotified{Token: token, Channel: "x"} })
		m.mustStep()
		m.ack()
		m.silence()
	},
	"its task record cannot be delivered": func(m *model, task *Outgoing) {
		m.batch.Produced = []Produced{{Out: task, Err: kerr.MessageTooLarge}}
		m.mustStep()
	},
	"its task record cannot be made again": func(m *model, task *Outgoing) {
		m.machine().Unmade = task.Key
		m.batch.Produced = []Produced{{Out: task, Partition: 0, Offset: 5}}
		m.mustStep()
		m.now = m.now.Add(31 * time.Second)
		m.mustStep()
		m.batch.Queues = []QueueOffsets{{Queue: "default", Partitions: []QueuePartition{{Start: 6, End: 9, Committed: 6}}}}
		m.mustStep()
		m.inboxRead()
	},
}

// silence lets the time of a silent worker pass, and the inputs be read to its end.
func (m *model) silence() {
	m.t.Helper()
	m.now = m.now.Add(16 * time.Second)
	m.mustStep()
	m.ends()
	m.mustStep()
	m.now = m.now.Add(time.Second)
	m.mustStep()
}

func (m *model) machine() *looptest.Counter { return m.p.Machine.(*looptest.Counter) }

// Whatever keeps an open attempt from its end is an end, with its reason (E3).
func TestE3AnAttemptThatNobodyCanHaveIsLost(t *testing.T) {
	for reason, give := range givenUp {
		t.Run(reason, func(t *testing.T) {
			m := newModel(t, Settings{Lease: time.Hour})
			task := m.running("w")
			give(m, task)
			last := m.record(len(m.journal) - 1)
			lost, ok := last.Events[0].(*events.RunnableLost)
			if !ok || !strings.HasPrefix(lost.Error.Message, reason) {
				t.Fatalf("the last record is %s: %+v", m.names(len(m.journal)-1), last.Events[0])
			}
			m.ack()
			n := len(m.journal)
			m.now = m.now.Add(time.Hour)
			m.mustStep()
			if len(m.journal) != n {
				t.Errorf("the attempt is lost again: %s", m.names(n))
			}
		})
	}
}

// A loss that meets a defect leaves the attempt open. It is looked at again,
// and lost once the defect is gone.
func TestJ6ALossThatMeetsADefectIsTriedAgain(t *testing.T) {
	for reason, give := range givenUp {
		t.Run(reason, func(t *testing.T) {
			m := newModel(t, Settings{Lease: 24 * time.Hour})
			task := m.running("w")
			machine := m.machine()
			machine.Lossless = "w"
			give(m, task)
			if got := m.names(len(m.journal) - 1); got != "WorkflowQuarantined " {
				t.Fatalf("the last record is %s", got)
			}
			m.ack()
			n := len(m.journal)
			m.silence()
			if len(m.journal) != n {
				t.Fatalf("it is tried again at once: %s", m.names(n))
			}
			machine.Lossless = ""
			m.now = m.now.Add(lossPause)
			m.silence()
			m.silence()
			if len(m.journal) != n+1 || m.names(n) != "RunnableLost RunnableDispatched " {
				t.Errorf("%d records behind the quarantine, want the loss", len(m.journal)-n)
			}
		})
	}
}

// Work that nobody is known to have, and whose queue goes elsewhere by now, is moved: once the inbox is read, so that
// what somebody has said of it counts, and once only.
func TestWorkGoesAlongWithItsQueue(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour, Pools: map[string]string{"default": "images"}})
	m.running("w")
	n := len(m.journal)
	m.now = m.now.Add(2 * time.Second)
	m.mustStep()
	if len(m.journal) != n {
		t.Fatalf("it was moved before the inbox was read: %s", m.names(n))
	}
	m.inboxRead()
	if len(m.journal) != n+1 {
		t.Fatalf("%d records behind it, want one that moves it", len(m.journal)-n)
	}
	m.ack()
}

// A shard of the pool is where work goes as long as there is such a shard.
func TestWorkInAShardStaysAsLongAsThereIsOne(t *testing.T) {
	at := func(pool string) *watched {
		return &watched{row: machine.Attempt{Queue: "q", Pool: pool}}
	}
	for _, c := range []struct {
		bound  string
		shards int
		has    string
		strays bool
	}{
		{"", 0, "", false}, {"", 0, "pool:images", true}, {"images", 0, "", true},
		{"images", 0, "pool:images", false}, {"images", 1, "pool:images", false}, {"images", 0, "pool:images/1", true}, {"images", 0, "pool:other", true},
		{"images", 4, "pool:images", true}, {"images", 4, "pool:images/4", false}, {"images", 4, "pool:images/5", true}, {"images", 4, "pool:other/1", true},
	} {
		w := &watch{Processor: &Processor{}}
		w.Settings.Pools, w.Settings.Shards = map[string]string{}, map[string]int{}
		if c.bound != "" {
			w.Settings.Pools["q"], w.Settings.Shards[c.bound] = c.bound, c.shards
		}
		if got := w.strayed(at(c.has)); got != c.strays {
			t.Errorf("%+v: it strays: %t", c, got)
		}
	}
}

// What a worker has begun stays with it.
func TestWorkThatHasBegunStays(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour, Pools: map[string]string{"default": "images"}})
	task := m.running("w")
	m.report(task, func(token []byte) events.InboxMessage { return &events.TaskNotified{Token: token, Channel: "x"} })
	m.mustStep()
	m.ack()
	n := len(m.journal)
	m.now = m.now.Add(2 * time.Second)
	m.mustStep()
	m.inboxRead()
	if len(m.journal) != n {
		t.Errorf("it was moved: %s", m.names(n))
	}
}

// staying is a machine whose attempts stay where they are, whatever the settings say of their queue.
type staying struct{ machine.Machine }

// Decide implements machine.Machine.
func (s staying) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if in.Lost != nil && in.Lost.Moved {
		return machine.Outcome{}
	}
	return s.Machine.Decide(tx, at, now, in)
}

// Work whose machine says that it stays is published again where other work is, as behind a takeover: its record may not be
// out. Else it is out, or on its way.
func TestWorkThatStaysWithItsQueueIsPublishedAgain(t *testing.T) {
	for _, again := range []bool{true, false} {
		t.Run(fmt.Sprintf("again=%v", again), func(t *testing.T) {
			m := newModel(t, Settings{Lease: time.Hour, Pools: map[string]string{"default": "pool:images"}})
			m.p.Machine = staying{m.p.Machine}
			m.running("w")
			m.produced = nil
			if again {
				m.p.watch.publishAgain(m.p.watch.untaken(events.Position{}), false) // as recovery does
			}
			for range 3 {
				m.now = m.now.Add(2 * time.Second)
				m.mustStep()
				m.inboxRead()
			}
			if n := len(m.of(machine.TaskEffect)); (n == 1) != again || n > 1 {
				t.Errorf("it is published %d times again", n)
			}
		})
	}
}

// asking is a machine that notes for which attempts it is asked to ask a pool.
type asking struct {
	machine.Machine
	asked *[]machine.Lost
}

// Decide implements machine.Machine.
func (a asking) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if in.Lost == nil {
		return a.Machine.Decide(tx, at, now, in)
	}
	*a.asked = append(*a.asked, *in.Lost)
	return machine.Outcome{}
}

// A pool that has an attempt is asked for it again and again, each time after twice as long, whether or not a runner has begun it (E3).
func TestE3APoolIsAskedForWhatItHas(t *testing.T) {
	for _, begun := range []bool{true, false} {
		m := newModel(t, Settings{Lease: 24 * time.Hour, Pools: map[string]string{"default": "images"}})
		var asked []machine.Lost
		m.p.Machine = asking{m.p.Machine, &asked}
		m.running("w")
		for _, at := range m.p.watch.open { // order: there is one
			at.row.Detached, at.row.Pool, at.row.Notified = true, "pool:images", begun
		}
		asked = nil
		ask := m.p.Settings.Ask
		for i, after := range []time.Duration{ask - time.Second, time.Second, 2*ask - time.Second, time.Second, 4 * ask} {
			m.now = m.now.Add(after)
			m.mustStep()
			m.mustStep()
			if want := []int{0, 1, 1, 2, 3}[i]; len(asked) != want {
				t.Fatalf("begun: %t: it is asked for %d times, want %d", begun, len(asked), want)
			}
		}
		if want := (machine.Lost{Runnable: asked[0].Runnable, Attempt: 1, Unsure: true}); asked[2] != want {
			t.Errorf("%+v, want %+v", asked[2], want)
		}
	}
}
