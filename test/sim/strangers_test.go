package sim

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// Whatever records stand on the input topics of a partition, none stops it: no
// tenure ends, nothing is quarantined (each would be a defect of ours), and a
// good workflow behind them comes to what the oracle says. The state is audited
// as after every simulation.
//
// A script is a text, so that its parts can be read and changed: records with
// newRecord between them, each of lines TOPIC KEY, NAME: VALUE for a header, an
// empty one, and then the value. KEY and VALUE of headers are percent-encoded.
// LATEST in a value stands for the token of the newest task; an inbox message
// of a header "token: latest" gets it as its token.
func FuzzPartition(f *testing.F) {
	f.Fuzz(func(t *testing.T, script []byte) {
		if err := strange(script); err != nil {
			t.Error(err)
		}
	})
}

const newRecord = "\n--\n"

// mostRecords bounds what one script says.
const mostRecords = 12

// strange runs a script and then a good workflow.
func strange(script []byte) (err error) {
	bubble(func() {
		w := newWorldOf(Options{Seed: 1}, strangersPlan(script), schedulerDice(1), 1)
		w.strangers = true
		w.startServices()
		if w.audit.until("the partition is owned", w.audit.owned) {
			for i, part := range strings.SplitN(string(script), newRecord, mostRecords+1) {
				if i < mostRecords {
					w.stranger(part)
				}
			}
			w.startUsers()
			w.audit.until("the good workflow ends", func() bool { return !w.busy() })
		}
		w.unharmed()
		if !w.failed() {
			w.audit.audit()
		}
		w.shutdown()
		err = w.err()
	})
	return err
}

// unharmed holds that no input ended a tenure or met a defect.
func (w *world) unharmed() {
	if n := w.stats.Quarantined.Load(); n > 0 {
		w.fail("%d workflows are quarantined", n)
	}
	if n := w.stats.Poisoned.Load(); n > 0 {
		w.fail("%d tenures were poisoned", n)
	}
	if n := w.stats.Recoveries.Load(); n != 1 {
		w.fail("%d recoveries, want the first one alone", n)
	}
}

// strangersPlan has one good workflow, with an ID that no script can name.
func strangersPlan(script []byte) *workload.Plan {
	id := fnv.New64a()
	id.Write(script)
	return &workload.Plan{
		Seed: 1, Partitions: 1, Workers: 1, Slots: 1 << 20,
		Settings: loop.Settings{
			Lease: 10 * time.Second, CheckpointInterval: 200 * time.Millisecond, Silence: 12 * time.Second, Pending: 8 * time.Second,
			InflightRecords: 16, // what nothing takes would fill it
		},
		Workflows: []*workload.Workflow{{
			ID: fmt.Sprintf("good-%x", id.Sum64()), Graph: workload.NewDice(9).Graph("good", false), Start: 7,
		}},
	}
}

// stranger writes one record of a script, and lets some of what follows happen.
func (w *world) stranger(part string) {
	rec := w.recordOf(part)
	w.c.mu.Lock()
	err := w.c.write(rec)
	w.c.mu.Unlock()
	if err != nil { // too large for the broker, which is its answer
		return
	}
	for range 60 {
		w.advance()
	}
}

func (w *world) recordOf(part string) *kgo.Record {
	head, value, _ := strings.Cut(part, "\n\n")
	lines := strings.Split(head, "\n")
	kind, key, _ := strings.Cut(lines[0], " ")
	rec := &kgo.Record{Topic: w.c.names.Commands(), Key: unescaped(key), Value: bytes.ReplaceAll([]byte(value), []byte("LATEST"), []byte(events.TokenText(w.latest())))}
	switch kind {
	case "inbox":
		rec.Topic = w.c.names.Inbox()
	case "queries":
		rec.Topic = w.c.names.Queries()
	}
	for _, line := range lines[1:] {
		name, v, _ := strings.Cut(line, ": ")
		if name == "token" && kind == "inbox" {
			rec.Value = withToken(rec.Value, w.latest())
			continue
		}
		rec.Headers = append(rec.Headers, kafka.Header(name, unescaped(v)))
	}
	return rec
}

func unescaped(s string) []byte {
	if v, err := url.PathUnescape(s); err == nil {
		return []byte(v)
	}
	return []byte(s)
}

// latest is the token of the newest task.
func (w *world) latest() []byte {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if len(w.tasks) == 0 {
		return nil
	}
	return secret.Seal(w.tasks[len(w.tasks)-1].token)
}

// withToken is an inbox message with another token; what is none stays as it is.
func withToken(value, token []byte) []byte {
	m, err := events.DecodeInbox(value)
	if err != nil {
		return value
	}
	switch m := m.(type) {
	case *events.TaskOutcome:
		m.Token = token
	case *events.TaskNotified:
		m.Token = token
	case *events.TaskHeartbeat:
		m.Token = token
	}
	return events.EncodeInbox(m)
}
