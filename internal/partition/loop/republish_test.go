package loop

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// passed answers the look-up of a queue whose workers have passed everything.
func (m *model) passed() {
	m.batch.Queues = []QueueOffsets{{Queue: "default", Partitions: []QueuePartition{{Start: 0, End: 9, Committed: 9}}}}
	m.mustStep()
}

// What workers have passed, they have reported: it is published again only if that
// report is not in the inbox up to an end seen after the look-up (E3).
func TestE3ALookUpWaitsForTheInboxToBeRead(t *testing.T) {
	for _, reported := range []bool{true, false} {
		t.Run(fmt.Sprintf("reported=%v", reported), func(t *testing.T) {
			m := newModel(t, Settings{Lease: time.Hour})
			task := m.running("w")
			m.batch.Produced = []Produced{{Out: task, Offset: 5}}
			m.mustStep()
			if reported {
				m.outcome(task, "1")
			}
			unread := m.batch.Inputs
			m.batch.Inputs = [Logs][]*kgo.Record{} // fetched later
			m.now = m.now.Add(31 * time.Second)
			m.mustStep()
			m.passed()
			n, asked := len(m.of(task.Kind)), m.asked
			if n != 1 {
				t.Fatalf("%d tasks are out before the inbox is read, want the first", n)
			}
			if asked == 0 {
				t.Fatal("nobody asks how far the inbox goes")
			}
			m.ends()
			m.mustStep()
			m.batch.Inputs = unread
			m.mustStep()
			m.ack()
			want := 2
			if reported {
				want = 1
			}
			if n := len(m.of(task.Kind)); n != want {
				t.Errorf("%d tasks are out, want %d", n, want)
			}
		})
	}
}

// An end that was seen of a log that has been made anew since is waited for no longer
// than until the ends are asked for again.
func TestE3ALookUpIsNotHeldByAnEndThatIsGone(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	task := m.running("w")
	m.batch.Produced = []Produced{{Out: task, Offset: 5}}
	m.mustStep()
	m.now = m.now.Add(31 * time.Second)
	m.mustStep()
	m.passed()
	m.batch.Ends = []Ends{{End: [Logs]int64{events.FromCommands: m.offsets[events.FromCommands], events.FromInbox: 1000}}}
	m.mustStep()
	if n := len(m.of(task.Kind)); n != 1 {
		t.Fatalf("%d tasks are out, want the first alone", n)
	}
	m.now = m.now.Add(2 * time.Second)
	m.mustStep()
	m.ends()
	m.mustStep()
	if n := len(m.of(task.Kind)); n != 2 {
		t.Errorf("%d tasks are out, want it published again", n)
	}
}

// What waits for an end of the inbox is an attempt. If the next one of its runnable is
// looked up meanwhile, that one waits for an end of its own (E1).
func TestE3ALookUpOfTheNextAttemptWaitsForItsOwnEnd(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	var unread []*kgo.Record
	reported := func(task *Outgoing) { // and looked up; the report is fetched later
		m.batch.Produced = []Produced{{Out: task, Offset: 5}}
		m.mustStep()
		m.outcome(task, "1")
		unread = append(unread, m.batch.Inputs[events.FromInbox]...)
		m.batch.Inputs = [Logs][]*kgo.Record{}
		m.now = m.now.Add(31 * time.Second)
		m.mustStep()
		m.passed()
		m.ends()
		m.mustStep()
	}
	first := m.running("w")
	reported(first)
	m.batch.Commands = append(m.batch.Commands, func(p *Processor) {
		p.watch.giveUp(attemptKey{first.Key, first.Runnable}, first.Decided, "it is lost")
	})
	m.mustStep()
	m.ack()
	tasks := m.of(first.Kind)
	if len(tasks) != 2 {
		t.Fatalf("%d tasks are out, want those of two attempts", len(tasks))
	}
	reported(tasks[1])
	for _, r := range unread {
		m.batch.Inputs[events.FromInbox] = []*kgo.Record{r}
		m.mustStep()
		m.ack()
	}
	if n := len(m.of(first.Kind)); n != 2 {
		t.Errorf("%d tasks are out, want no more: the second attempt was reported before it was looked up", n)
	}
	if sum := m.sum("w"); sum != 1 {
		t.Errorf("the sum is %d, want 1", sum)
	}
}

// Where a queue stood when an attempt was looked up says nothing of the next one, whose
// task record came into the queue after the answer was made (E3).
func TestE3ALookUpIsOfTheAttemptThatItWasAskedFor(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	first := m.running("w")
	m.batch.Produced = []Produced{{Out: first, Offset: 5}}
	m.mustStep()
	m.now = m.now.Add(31 * time.Second)
	m.mustStep() // it is asked where the queue stands
	m.batch.Commands = append(m.batch.Commands, func(p *Processor) {
		p.watch.giveUp(attemptKey{first.Key, first.Runnable}, first.Decided, "it is lost")
	})
	m.mustStep()
	m.ack()
	tasks := m.of(first.Kind)
	if len(tasks) != 2 {
		t.Fatalf("%d tasks are out, want those of two attempts", len(tasks))
	}
	m.batch.Produced = []Produced{{Out: tasks[1], Offset: 12}}
	m.mustStep()
	m.passed() // up to 9
	m.inboxRead()
	m.ack()
	if n := len(m.of(first.Kind)); n != 2 {
		t.Errorf("%d tasks are out, want no more: nobody has looked for the second attempt", n)
	}
}

// A queue whose workers are not known is told of once, until they are.
func TestAQueueThatCannotBeLookedUpIsToldOnce(t *testing.T) {
	m := newModel(t, Settings{Lease: time.Hour})
	var said bytes.Buffer
	m.p.Logger = slog.New(slog.NewTextHandler(&said, nil))
	task := m.running("w")
	m.batch.Produced = []Produced{{Out: task, Offset: 5}}
	m.mustStep()
	answers := []QueueOffsets{
		{Err: kerr.UnknownTopicOrPartition}, {Err: kerr.UnknownTopicOrPartition},
		{Partitions: []QueuePartition{{End: 9}}}, {Err: kerr.UnknownTopicOrPartition},
	}
	for i, told := range []int{1, 1, 1, 2} {
		m.now = m.now.Add(31 * time.Second)
		m.mustStep()
		answers[i].Queue = "default"
		m.batch.Queues = answers[i : i+1]
		m.mustStep()
		if n := strings.Count(said.String(), "\n"); n != told {
			t.Errorf("after %d answers %d lines are in the log, want %d:\n%s", i+1, n, told, &said)
		}
	}
}
