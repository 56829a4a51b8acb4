package sim

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/partition/loop"
)

// Of a history are shown the workflow that fails, who owned its partition, and
// what befell the planners that did; not others, and no noise.
func TestAHistoryShowsWhatConcernsTheFailure(t *testing.T) {
	mine := Subject{Workflow: "w1", Partition: "p0"}
	all := []Line{
		{Text: "nobody's", About: Subject{}},
		{Text: "a pass", Noise: true},
		{Text: "mine", About: mine},
		{Text: "a neighbour's", About: Subject{Workflow: "w2", Partition: "p0"}},
		{Text: "a stranger's", About: Subject{Workflow: "w3", Partition: "p1"}},
		{Text: "my partition given to n0", About: Subject{Partition: "p0", Planner: "n0"}},
		{Text: "another given to n1", About: Subject{Partition: "p1", Planner: "n1"}},
		{Text: "n0 is killed", About: Subject{Planner: "n0"}},
		{Text: "n1 is killed", About: Subject{Planner: "n1"}},
		{Text: "a question of mine", About: mine, Noise: true},
	}
	for _, c := range []struct {
		about Subject
		want  []string
	}{
		{mine, []string{"nobody's", "mine", "my partition given to n0", "n0 is killed"}},
		{Subject{Partition: "p0"}, []string{"nobody's", "mine", "a neighbour's", "my partition given to n0", "n0 is killed"}},
		{Subject{}, []string{"nobody's", "mine", "a neighbour's", "a stranger's", "my partition given to n0", "another given to n1", "n0 is killed", "n1 is killed"}},
	} {
		var have []string
		for _, line := range Concerning(c.about, all) {
			have = append(have, line.Text)
		}
		if !slices.Equal(have, c.want) {
			t.Errorf("of %q are shown %q, want %q", c.about, have, c.want)
		}
	}
}

// What is printed of a flaw names the workflow that it harms, tells what its
// journal holds and who owned it, and is a small part of all.
func TestAFailureIsToldInFewLines(t *testing.T) {
	for seed := uint64(1); seed < 40; seed++ {
		o := options(seed)
		o.Flaws = loop.Flaws{EarlyEffects: true}
		if Run(o).Err == nil {
			continue
		}
		small := Shrink(t.Context(), o)
		some := Concerning(small.About, small.History)
		var out bytes.Buffer
		Describe(&out, small, len(some), false)
		t.Logf("%s", out.String())
		if small.About.Partition == "" {
			t.Errorf("it is not told whom this is about: %v", small.Err)
		}
		if len(some)*5 > len(small.History) {
			t.Errorf("%d of %d lines are shown", len(some), len(small.History))
		}
		for _, part := range []string{small.About.Workflow, small.About.Partition, "the group gives " + small.About.Partition, "decides"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("nothing is told of %q", part)
			}
		}
		return
	}
	t.Error("no seed fails")
}
