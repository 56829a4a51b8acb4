package partition_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/test/sim"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// goldenSteps are the steps with faults of a recorded run.
const goldenSteps = 800

// recordGolden records journals of simulated clusters until nothing is missing
// in them.
func recordGolden(t *testing.T) []*golden {
	t.Helper()
	var runs [][]*golden
	seen := occurrences{}
	for seed := uint64(1); seed <= sim.EnoughSeeds && len(seen.missing()) > 0; seed++ {
		run := sim.Run(sim.Options{Seed: seed, Steps: goldenSteps})
		if run.Err != nil {
			t.Fatalf("seed %d: %v", seed, run.Err)
		}
		journals := goldensOf(run)
		for _, g := range journals {
			g.keepStates(t)
		}
		if seen.addAll(t, journals) {
			runs = append(runs, journals)
		}
	}
	if missing := seen.missing(); len(missing) > 0 {
		t.Fatalf("within %d seeds there was no\n%s", sim.EnoughSeeds, strings.Join(missing, "\n"))
	}
	return needed(t, runs)
}

// keepStates folds the journal and keeps the states behind its cuts.
func (g *golden) keepStates(t *testing.T) {
	t.Helper()
	g.fold(t, g.cuts(t), nil, func(behind int, have workload.Content) bool {
		state, err := newGoldenState(behind, have)
		if err != nil {
			t.Fatal(err)
		}
		g.states = append(g.states, state)
		return true
	})
}

// needed leaves out the runs in which nothing occurs that does not occur in a
// later one: those that are rich come late.
func needed(t *testing.T, runs [][]*golden) []*golden {
	t.Helper()
	var all []*golden
	seen := occurrences{}
	for _, journals := range slices.Backward(runs) {
		if seen.addAll(t, journals) {
			all = append(all, journals...)
		}
	}
	return all
}

func goldensOf(run sim.Result) []*golden {
	var all []*golden
	for p, journal := range run.Journals {
		g := &golden{
			version: events.Version,

			name:  fmt.Sprintf("seed-%d-p%d", run.Seed, p),
			owner: goldenOwner{Key: run.Key, Partition: int32(p), Partitions: int32(len(run.Journals))},
		}
		for _, k := range journal {
			g.records = append(g.records, newGoldenRecord(k))
		}
		all = append(all, g)
	}
	return all
}

// cuts are behind which records states are kept: the last one, and the first one
// of each event. What comes later may undo what an event has changed.
func (g *golden) cuts(t *testing.T) []int {
	t.Helper()
	var all []int
	told := occurrences{}
	g.lawful(t, func(i int, rec *events.Record) {
		before := len(told)
		told.events(rec)
		if rec != nil && len(told) > before {
			all = append(all, i+1)
		}
	})
	if end := len(g.records); end > 0 && !slices.Contains(all, end) {
		all = append(all, end)
	}
	return all
}

// lawful visits the records of the journal in order; nil is a void one.
func (g *golden) lawful(t *testing.T, visit func(i int, rec *events.Record)) {
	t.Helper()
	names, err := topics.NewNames("")
	if err != nil {
		t.Fatal(err)
	}
	var filter journal.Filter
	for i := range g.records {
		k := g.records[i].at(names, g.owner.Partition)
		h, err := journal.ParseHeaders(k.Headers)
		if err != nil || !h.Lawful(&filter) {
			visit(i, nil)
			continue
		}
		rec, err := journal.Decode(k)
		if err != nil {
			t.Fatalf("%s, record %d: %v", g.name, i, err)
		}
		visit(i, rec)
	}
}

// occurrences are what occurs in journals: kinds of events, fields that are not
// empty, void records, and tables with rows in the states that are kept.
type occurrences map[string]bool

const void = "a void record"

// addAll adds what occurs in journals, and reports whether something of it did in
// none before.
func (o occurrences) addAll(t *testing.T, journals []*golden) bool {
	t.Helper()
	before := len(o)
	for _, g := range journals {
		o.add(t, g)
	}
	return len(o) > before
}

// add adds what occurs in a journal.
func (o occurrences) add(t *testing.T, g *golden) {
	t.Helper()
	g.lawful(t, func(_ int, rec *events.Record) {
		if o.events(rec); rec != nil {
			o.fields(reflect.ValueOf(rec).Elem())
		}
	})
	for _, s := range g.states {
		for _, r := range s.Rows {
			o[rowsOf(rows.Table(r.Key[0]))] = true
		}
	}
}

func rowsOf(t rows.Table) string { return fmt.Sprintf("rows of table %v", t) }

// events adds the kinds of events of a record; nil is a void one.
func (o occurrences) events(rec *events.Record) {
	if rec == nil {
		o[void] = true
		return
	}
	for _, e := range rec.Events {
		o["event "+events.Name(e)] = true
	}
}

// fields adds the fields of a message that are not empty, and of those in it.
func (o occurrences) fields(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			o.fields(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			o.fields(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				o[fieldOf(v.Type(), i)] = true
				o.fields(v.Field(i))
			}
		}
	}
}

func fieldOf(t reflect.Type, i int) string { return "field " + t.Name() + "." + t.Field(i).Name }

// ofPools is what occurs where queues are bound to pools of runners, which simulated runs have none of: the tests of
// services/planner/pool replay each of their records.
var ofPools = regexp.MustCompile(`^(event|field) (Work(Offered|Given|Begun|Asked|Stopping|Over|Declined)|Attempt(Asked|Disowned)|OfferForestalled|Runner(Joined|Connected|Disconnected|Draining|Stopped|Progressed|PassedOver|Redirected)|Executor(Heard|Gone|Disowned)|Pool(Swept|Resized)|Slots(Asked|Spared)|AlarmSet|RunnableParked|Connection|TaskName)\b|^field (OpenAttempt|RunnableDispatched)\.Pool$`)

// unrecorded is what occurs in no simulated run, with the reason.
var unrecorded = map[string]string{
	"event ArchiveAwaited":           noArchiver,
	"field ArchiveAwaited.Run":       noArchiver,
	"field RunnableReturned.Attempt": noPools,
	"field RunnableReturned.Decided": noPools,
	"field RunnableReturned.Shard":   noPools,

	"event WorkflowRestored":             noRestore,
	"field WorkflowRestored.Run":         noRestore,
	"field WorkflowRestored.Definitions": noRestore,
	"field WorkflowRestored.Rows":        noRestore,
	"field WorkflowRestored.By":          noRestore,
	"field RestoredRow.Key":              noRestore,
	"field RestoredRow.Value":            noRestore,

	"event JournalLost":              noLoss,
	"field JournalLost.From":         noLoss,
	"field JournalLost.To":           noLoss,
	"field JournalLost.Commands":     noLoss,
	"field JournalLost.Reason":       noLoss,
	"field JournalLost.By":           noLoss,
	"field Notice.Drains":            noEvent,
	"field Notice.Trace":             noTrace,
	"field WorkflowMigrated.Signals": noLegacy,
	"field WorkflowMigrated.Newest":  noLegacy,
	"field NewestFact.Component":     noLegacy,
	"field NewestFact.Fact":          noLegacy,
	"field TimerFired.Edited":        noEdit,
	"event SignalExpired":            tooShort,
	"field SignalExpired.Signal":     tooShort,
	"field RetryWork.By":             oneRetry,
	"field RetryWork.Component":      oneRetry,
	"field RetryWork.Input":          oneRetry,
	"field RetryWork.Runnables":      oneRetry,
	"event ProbeAnswered":            noPolicy,
	"field ProbeAnswered.Runnable":   noPolicy,
	"field ProbeAnswered.Answer":     noPolicy,
	"field ProbeAnswered.Executor":   noPolicy,
	"field KeySwept.Asked":           noLease,
	"field OutcomeArrived.Attempt":   noPolicy,
	"field OutcomeArrived.Decided":   noPolicy,
}

// What the seeds do not draw, and the scripts of services/planner do.
const (
	tooShort = "no seed lasts as long as a signal is kept"
	noEvent  = "it is in a message, of which an event of its own is recorded (NoticesOver)"
	noLease  = "no attempt of these seeds holds a permit for a minute: tests of services/planner/limits ask holders"
	noEdit   = "what these seeds retry waits for no time"
	noPolicy = "in these seeds no worker vanishes whose attempt is asked after, or comes back: scripts of services/planner have both"
	noTrace  = "the clients of the simulation send no traceparent"
	noLegacy = "what the simulation migrates has no signals, and no results yet: scripts of services/planner have"
)

// oneRetry: the scripts of services/planner retry in the smallest pieces.
const oneRetry = "the first piece of a retry is all of it in these seeds"

// noArchiver: TestNothingIsForgottenThatIsNotArchived has one.
const noArchiver = "in these seeds no run waits to be archived"

// noPools: the tests of services/planner and of its pools bind queues elsewhere.
const noPools = "no queue of a simulated cluster is bound elsewhere meanwhile"

// noRestore: TestARestoredRunGoesOnAsTheFirstWouldHave has some.
const noRestore = "nothing is restored in a simulated cluster"

// noLoss: TestALossOfTheJournalWaitsForAnOperatorsWord has some.
const noLoss = "no journal of these seeds is lost"

// missing is what of the present events occurs nowhere and should.
func (o occurrences) missing() []string {
	want := occurrences{void: true}
	for _, table := range workload.Tables {
		want[rowsOf(table)] = true
	}
	want.allFields(reflect.TypeFor[events.Record]())
	for _, n := range events.Numbers() {
		var e events.Envelope
		if err := wire.Unmarshal(append(binary.AppendUvarint(nil, uint64(n)<<3|2), 0), &e); err != nil { // an empty one
			panic(err)
		}
		want["event "+events.Name(e.Event)] = true
		want.allFields(reflect.TypeOf(e.Event).Elem())
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(want)) {
		if !o[what] && unrecorded[what] == "" && !ofPools.MatchString(what) {
			all = append(all, what)
		}
	}
	return all
}

// allFields adds all fields of a message's type, and of those in it.
func (o occurrences) allFields(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		o.allFields(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			o[fieldOf(t, i)] = true
			o.allFields(t.Field(i).Type)
		}
	}
}
