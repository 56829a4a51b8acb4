package archive

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/heddle-run/heddle/shared/events"
)

// words are events as scripts name them.
var words = map[string]func() events.Event{
	"start":     func() events.Event { return &events.WorkflowStarted{Digest: "d", Name: "n"} },
	"input":     func() events.Event { return &events.InputAccepted{Fact: 1, Value: []byte("1")} },
	"outcome":   func() events.Event { return &events.RunnableCompleted{Runnable: 1, Fact: 2, Value: []byte("2")} },
	"idle":      func() events.Event { return &events.WorkflowIdle{} },
	"fail":      func() events.Event { return &events.WorkflowFailed{} },
	"revive":    func() events.Event { return &events.WorkflowRevived{} },
	"complete":  func() events.Event { return &events.WorkflowCompleted{} },
	"cancel":    func() events.Event { return &events.WorkflowCancelled{} },
	"armed":     func() events.Event { return &events.RetentionArmed{Until: 1} },
	"awaited":   func() events.Event { return &events.ArchiveAwaited{} },
	"archived":  func() events.Event { return &events.WorkflowArchived{} },
	"deleting":  func() events.Event { return &events.WorkflowDeleting{} },
	"removed":   func() events.Event { return &events.RowsRemoved{} },
	"deleted":   func() events.Event { return &events.WorkflowDeleted{} },
	"refused":   func() events.Event { return &events.CommandRefused{Code: "closed"} },
	"asked":     func() events.Event { return &events.CheckpointRequested{} },
	"in-hand":   func() events.Event { return &events.WorkInHand{} },
	"of-itself": func() events.Event { return &events.AuthorityAcquired{} },
}

func init() {
	for s, options := range map[string]string{
		"every_cycle": `{"checkpoint":"every_cycle"}`, "every_n": `{"checkpoint":{"every_n":2}}`, "on_complete": `{"checkpoint":"on_complete"}`, "manual": `{"checkpoint":"manual"}`,
	} {
		words["start-"+s] = func() events.Event {
			return &events.WorkflowStarted{Digest: "d", Name: "n", Options: []byte(options)}
		}
	}
}

// TestKeeper runs testdata/*.txt. The first line of a script has the settings; then, one a line, sharing one output:
//
//	WORKFLOW EVENT…  the next record, at the next offset and a second later
//	due              what is to be written, which is said to be written then, and where reading would go on
//	wait SECONDS     the clock goes on
func TestKeeper(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := Settings{}
			for _, a := range d.CmdArgs {
				n := 0
				if len(a.Vals) > 0 {
					n, _ = strconv.Atoi(a.Vals[0])
				}
				switch a.Key {
				case "all":
					s.All = true
				case "records":
					s.Records = int64(n)
				case "age":
					s.Age = int64(n) * 1000
				case "bytes":
					s.Bytes = n
				case "known":
					s.Known = n
				}
			}
			k := &script{Keeper: NewKeeper(s, Place{})}
			for line := range strings.Lines(d.Input) {
				k.line(t, strings.Fields(line))
			}
			return k.out.String()
		})
	})
}

// script drives a Keeper.
type script struct {
	*Keeper
	out    strings.Builder
	offset int64
	now    int64
}

func (k *script) line(t *testing.T, f []string) {
	switch {
	case len(f) == 0:
	case f[0] == "due":
		k.writes()
	case f[0] == "wait":
		n, err := strconv.Atoi(f[1])
		if err != nil {
			t.Fatal(err)
		}
		k.now += int64(n) * 1000
	default:
		k.now += 1000
		k.offset++
		rec := &events.Record{Position: events.Position{Epoch: 1, Seq: uint64(k.offset)}, Time: k.now, Workflow: f[0]}
		if f[0] == "-" {
			rec.Workflow = ""
		}
		for _, w := range f[1:] {
			if words[w] == nil {
				t.Fatalf("there is no event %q", w)
			}
			rec.Events = append(rec.Events, words[w]())
		}
		k.Take(k.offset, rec, events.EncodeRecord(rec))
	}
}

func (k *script) writes() {
	for _, l := range k.Due(k.now) {
		fmt.Fprintf(&k.out, "%s", l.Workflow)
		if l.Resolved {
			fmt.Fprintf(&k.out, " run %s", l.Run)
		} else {
			fmt.Fprintf(&k.out, " of an unknown run")
		}
		fmt.Fprintf(&k.out, ", %s, behind %d:", cmp.Or(l.Status, "in an unknown state"), l.At)
		for _, e := range l.Pending {
			rec, err := Decode(e.Data)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(&k.out, " %s(%d)", e.Position, len(rec.Events))
		}
		if l.Closed {
			fmt.Fprint(&k.out, ", closed")
		}
		if l.Report {
			fmt.Fprint(&k.out, ", its planner waits")
		}
		if l.Deleted {
			fmt.Fprint(&k.out, ", deleted")
		}
		fmt.Fprintln(&k.out)
		k.Written(l, l.At+uint64(len(l.Pending)))
	}
	runs, bytes := k.Pending()
	at := k.Place()
	fmt.Fprintf(&k.out, "reading would go on at %d", at.Offset)
	if !at.First.IsZero() {
		fmt.Fprintf(&k.out, ", with %s", at.First)
	}
	if runs > 0 {
		fmt.Fprintf(&k.out, "; %d runs wait", runs)
	}
	if (runs == 0) != (bytes == 0) || runs < 0 {
		fmt.Fprintf(&k.out, "; %d BYTES OF %d RUNS", bytes, runs)
	}
	fmt.Fprintln(&k.out)
}
