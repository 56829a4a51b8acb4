package partition_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

var writeGoldens = flag.Bool("write-golden", false, "record the golden journals of this version of the events, if it has none; never overwrites")

const howToWrite = "`go test ./internal/partition -run GoldenJournals -write-golden`"

// goldens are the journals of a version.
func goldens(t *testing.T, version int) []*golden {
	t.Helper()
	all, err := readGolden(version)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("there are no golden journals of version %d: write them with %s", version, howToWrite)
	}
	return all
}

// This one is the first: what it writes the others read.
func TestGoldenJournalsAreWritten(t *testing.T) {
	if *writeGoldens {
		dir := goldenDir(events.Version)
		if _, err := os.Stat(dir); err == nil {
			t.Logf("nothing is written: %s: %v", dir, errGoldenThere)
		} else if err := writeGolden(dir, recordGolden(t)); err != nil {
			t.Fatal(err)
		}
	}
	for v := 1; v <= events.Version; v++ {
		goldens(t, v)
	}
}

func TestGoldenJournalsFoldToTheSameState(t *testing.T) {
	for v := 1; v <= events.Version; v++ {
		for _, g := range goldens(t, v) {
			t.Run(fmt.Sprintf("v%d/%s", v, g.name), func(t *testing.T) {
				t.Parallel()
				if err := g.differences(t, nil); err != nil {
					t.Errorf("%v\n\n%s", err, fmt.Sprintf(whatToDo, v, goldenDir(v)))
				}
			})
		}
	}
}

const whatToDo = `Journals of version %d of the events fold to another state than they did. Where one
lies in Kafka, a new planner would disagree with what older ones have answered
and checkpointed. Keep folding these events and writing these rows as before, and
give what is new an event or a field of its own: events.Version goes up, and the
new version gets journals of its own. Only if no release has this version yet:
remove %s and write it anew with
` + howToWrite + "."

func TestEverythingOccursInGoldenJournals(t *testing.T) {
	seen := occurrences{}
	for _, g := range goldens(t, events.Version) {
		seen.add(t, g)
	}
	if missing := seen.missing(); len(missing) > 0 {
		t.Errorf("no golden journal of version %d has\n%s\nsee %s", events.Version, strings.Join(missing, "\n"), goldenReadme)
	}
	for what, why := range unrecorded {
		if seen[what] {
			t.Errorf("%s occurs, and is excused: %s", what, why)
		}
	}
}

var goldenReadme = filepath.Join("testdata", "journals", "README.md")

func TestGoldenJournalsAreNeverOverwritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "v1")
	first := &golden{name: "first", records: []goldenRecord{{Value: []byte("old")}}}
	if err := writeGolden(dir, []*golden{first}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, first.name+goldenSuffix)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := &golden{name: "first", records: []goldenRecord{{Value: []byte("new")}}}
	if err := writeGolden(dir, []*golden{other}); !errors.Is(err, errGoldenThere) {
		t.Errorf("writing them again gives %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
	if _, err := os.Stat(dir + ".part"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is left behind: %v", err)
	}
}

// forgetful is a machine that applies all events but those of one kind.
type forgetful struct {
	machine.Machine
	kind string
}

// Apply implements machine.Machine.
func (f *forgetful) Apply(tx *rows.Tx, rec *events.Record, guarded bool) machine.Outcome {
	less := *rec
	less.Events = nil
	for _, e := range rec.Events {
		if events.Name(e) != f.kind {
			less.Events = append(less.Events, e)
		}
	}
	return f.Machine.Apply(tx, &less, guarded)
}

// Events that change no row of a workflow.
var ofHistoryOnly = map[string]bool{"CheckpointRequested": true, "CommandRefused": true, "CommandIgnored": true}

// This shows that the comparison can fail: of each event of workflows, if it is
// not applied any more, some journal folds to something else.
func TestAnApplyThatChangedIsNamed(t *testing.T) {
	all := goldens(t, events.Version)
	slices.SortFunc(all, func(a, b *golden) int { return len(a.records) - len(b.records) }) // the quickest first
	occur := make([]occurrences, len(all))
	for i, g := range all {
		occur[i] = occurrences{}
		occur[i].add(t, g)
	}
	for i, kind := range events.Names() {
		if events.Numbers()[i] >= 64 || ofHistoryOnly[kind] || unrecorded["event "+kind] != "" { // from there on they are the partition's
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for i, g := range all {
				if !occur[i]["event "+kind] {
					continue
				}
				err := g.differences(t, func(m machine.Machine) machine.Machine { return &forgetful{m, kind} })
				if err == nil {
					continue
				}
				if text := err.Error(); !strings.Contains(text, g.name+", behind ") || !strings.Contains(text, "row {Table:") {
					t.Errorf("the difference is told like this: %.500s", text)
				}
				t.Logf("noticed: %.300v", err)
				return
			}
			t.Error("nothing differs")
		})
	}
}
