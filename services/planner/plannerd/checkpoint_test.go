package plannerd_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// changelog is what the topic says of workflows: how many runnables their header there has
// as completed.
type changelog struct {
	mu   sync.Mutex
	rows map[string][]byte // headers, by key
}

// absent is the number of a workflow that the changelog has no header of.
const absent = -1

func (w *world) changelog() *changelog {
	c := &changelog{rows: map[string][]byte{}}
	w.tail(w.names.State(), func(k *kgo.Record) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.rows[string(k.Key)] = k.Value
	})
	return c
}

// completed is the number of a workflow.
func (c *changelog) completed(t *testing.T, workflow string) int {
	t.Helper()
	const field = 15 // completed, of the header
	c.mu.Lock()
	defer c.mu.Unlock()
	row := c.rows[string(rows.Key{Table: rows.Header, Workflow: workflow}.Append(nil))]
	if len(row) == 0 {
		return absent
	}
	for len(row) > 0 {
		number, typ, n := protowire.ConsumeTag(row)
		if n < 0 {
			t.Fatalf("the header of %s cannot be read", workflow)
		}
		row = row[n:]
		if number == field {
			v, _ := protowire.ConsumeVarint(row)
			return int(v)
		}
		if n = protowire.ConsumeFieldValue(number, typ, row); n < 0 {
			t.Fatalf("field %d of the header of %s cannot be read", number, workflow)
		}
		row = row[n:]
	}
	return 0
}

// steps are how many a workflow of these tests has, one behind the other.
const steps = 7

// chain is a start of a workflow of so many steps.
func chain(options string) string {
	components := []string{`"s1":{"step":"test.echo","queue":"default"}`}
	for i := 2; i <= steps; i++ {
		components = append(components, fmt.Sprintf(`"s%d":{"step":"test.echo","queue":"default","after":"s%d"}`, i, i-1))
	}
	return `{"definition":{"name":"chain","components":{` + strings.Join(components, ",") + `}},"input":1,"options":` + options + `}`
}

// strategies has one line for each: what the changelog has behind each outcome, from none on,
// and whether that is less than there is, so that being due too often shows.
var strategies = []struct {
	name, option string
	has          [steps + 1]int
}{
	{"every_cycle", `"every_cycle"`, [...]int{0, 1, 2, 3, 4, 5, 6, 7}},
	{"every_n", `{"every_n":3}`, [...]int{absent, absent, absent, 3, 3, 3, 6, 6}},
	{"on_complete", `"on_complete"`, [...]int{absent, absent, absent, absent, absent, absent, absent, 7}},
	{"manual", `"manual"`, [...]int{absent, absent, absent, absent, absent, absent, absent, absent}},
}

// between is longer than the time from what makes a workflow due to its checkpoint.
const between = 3 * time.Second

// lookIntoTheChangelog runs a workflow for each strategy, all in one partition, and looks into
// the changelog after each outcome. It returns what is not as the strategy says.
func lookIntoTheChangelog(t *testing.T, w *world) (wrong []string) {
	t.Helper()
	w.held = make(chan *kgo.Record, len(strategies))
	log := w.changelog()
	_, kill, _ := w.mortal("a")
	<-time.After(between) // the first checkpoint of a tenure is one of everything
	ids := map[string]string{}
	for _, s := range strategies {
		ids[s.name] = w.idOn(0, s.name)
		w.command(ids[s.name], "start", chain(`{"checkpoint":`+s.option+`}`))
	}
	look := func(when string, want func(i int) int) {
		<-time.After(between)
		for i, s := range strategies {
			if got := log.completed(t, ids[s.name]); got != want(i) {
				wrong = append(wrong, fmt.Sprintf("%s: %s the changelog has %d completed steps, want %d", s.name, when, got, want(i)))
			}
		}
	}
	for n := range steps + 1 {
		if n > 0 {
			for range strategies {
				w.complete(<-w.held)
			}
		}
		look(fmt.Sprintf("after outcome %d", n), func(i int) int { return strategies[i].has[n] })
	}
	for _, s := range strategies {
		w.command(ids[s.name], "checkpoint", `{}`)
	}
	look("after the command", func(int) int { return steps })
	if err := kill(); err != nil {
		t.Error(err)
	}
	return wrong
}

// idOn is a workflow's ID in a partition.
func (w *world) idOn(p int32, name string) string {
	for i := range 1000 {
		if id := fmt.Sprintf("%s-%d", name, i); kafka.PartitionFor([]byte(id), w.cluster.Topics.Partitions()) == p {
			return id
		}
	}
	w.t.Fatalf("no ID is on partition %d", p)
	return ""
}

// Each strategy has the changelog say what it should after each outcome, no more and no less.
func TestEachStrategyIsKeptInTheChangelog(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, wrong := range lookIntoTheChangelog(t, w) {
			t.Error(wrong)
		}
	})
}

// untimely is a planner with a bug: what it says is due is not what its strategies say.
type untimely struct {
	machine.Machine
	due func(rec []events.Event, due bool) bool
}

// Decide implements machine.Machine.
func (u *untimely) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := u.Machine.Decide(tx, at, now, in)
	if len(out.Events) > 0 {
		out.Due = u.due(out.Events, out.Due)
	}
	return out
}

// A planner whose workflows are due too late, never or too often is noticed, under every strategy
// that can tell.
func TestUntimelyCheckpointsAreNoticed(t *testing.T) {
	for _, bug := range []struct {
		name string
		due  func() func(rec []events.Event, due bool) bool
		in   []string // strategies
	}{
		{"late", func() func([]events.Event, bool) bool {
			before := false
			return func(_ []events.Event, due bool) bool { due, before = before, due; return due }
		}, []string{"every_cycle", "every_n", "on_complete"}},
		{"never", func() func([]events.Event, bool) bool {
			return func([]events.Event, bool) bool { return false }
		}, []string{"every_cycle", "every_n", "on_complete", "manual"}},
		{"too often", func() func([]events.Event, bool) bool {
			return func([]events.Event, bool) bool { return true }
		}, []string{"every_n", "on_complete", "manual"}},
		{"with each outcome", func() func([]events.Event, bool) bool {
			return func(rec []events.Event, due bool) bool {
				return due || slices.ContainsFunc(rec, func(e events.Event) bool { _, is := e.(*events.RunnableCompleted); return is })
			}
		}, []string{"every_n", "on_complete", "manual"}},
	} {
		t.Run(bug.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.seeded = func(c *plannerd.Config) {
					key := c.TokenKey
					c.Machine = func(p int32, definitions func(string) ([]byte, bool)) machine.Machine {
						return &untimely{planner.New(planner.Config{Key: key, Partition: p, Definitions: definitions}), bug.due()}
					}
				}
				wrong := strings.Join(lookIntoTheChangelog(t, w), "\n")
				for _, strategy := range bug.in {
					if !strings.Contains(wrong, strategy+": ") {
						t.Errorf("it is not noticed under %s", strategy)
					}
				}
			})
		})
	}
}
