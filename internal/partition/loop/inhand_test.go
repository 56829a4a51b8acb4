package loop

import (
	"slices"
	"testing"

	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// decided are the workflows of the records from the nth on.
func (m *model) decidedFrom(n int) (all []string) {
	for i := n; i < len(m.journal); i++ {
		all = append(all, m.record(i).Workflow)
	}
	return all
}

// muchInHand is a model in which two workflows have three pieces in hand each.
func muchInHand(t *testing.T) *model {
	m := newModel(t, Settings{})
	for _, workflow := range []string{"much-a", "much-b", "w"} {
		m.command("s"+workflow, workflow, "start", `{"definition":"d"}`)
	}
	m.mustStep()
	for _, workflow := range []string{"much-a", "much-b"} {
		m.command("i"+workflow, workflow, "input", `{"input":1}`)
	}
	return m
}

// recoveredInHand is a model whose state is that of muchInHand behind its first pieces.
func recoveredInHand(t *testing.T) *model {
	live := muchInHand(t)
	live.mustStep()
	next := newModel(t, Settings{})
	next.memory = live.memory
	for _, p := range live.pending {
		next.memory.Commit([]rows.Write{p.w})
	}
	return next
}

// What workflows have in hand is decided in turns, a piece in a step, and what arrives
// for others in between.
func TestWhatIsInHandIsContinuedInTurns(t *testing.T) {
	m := muchInHand(t)
	m.mustStep()
	var pieces []string
	for len(m.p.hand.turns) > 0 {
		if wake := m.p.NextWake(); wake != 0 {
			t.Fatalf("with something in hand the next step is in %s", wake)
		}
		before := len(m.journal)
		m.command("", "w", "checkpoint", `{}`)
		m.mustStep()
		step := m.decidedFrom(before)
		if len(step) != 2 || step[0] != "w" {
			t.Fatalf("a step decides %v, want w and one piece", step)
		}
		pieces = append(pieces, step[1])
	}
	if want := []string{"much-b", "much-a", "much-b", "much-a", "much-b"}; !slices.Equal(pieces, want) {
		t.Errorf("the pieces are of %v, want %v", pieces, want)
	}
	if m.p.NextWake() == 0 {
		t.Error("nothing is in hand, and the loop does not rest")
	}
}

// The next owner of a partition carries on what is in hand there.
func TestWhatIsInHandIsContinuedAfterARecovery(t *testing.T) {
	for _, broken := range []bool{false, true} {
		next := recoveredInHand(t)
		next.p.Flaws.NoWork = Flaw(broken)
		if err := next.p.RecallInHand(); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			next.mustStep()
		}
		left := 0
		for _, workflow := range []string{"much-a", "much-b"} {
			left += int(next.Get(looptest.HeadKey(workflow), nil).(*looptest.Tally).InHand)
		}
		if (left > 0) != next.p.Flaws.NoWork.On() {
			t.Errorf("without the reading of what is in hand: %t; %d pieces are left", next.p.Flaws.NoWork.On(), left)
		}
	}
}

// deadly says how often the process has ended at each input.
type deadly struct {
	deaths int
	begun  []string
}

// Begin implements Suspects.
func (d *deadly) Begin(input string) (int, error) {
	d.begun = append(d.begun, input)
	return d.deaths, nil
}

// Rest implements Suspects.
func (d *deadly) Rest() error { return nil }

// The first piece behind an unclean end is noted before it is decided, and one that has
// ended the process before is not decided again.
func TestAPieceThatEndsTheProcessIsNotDecided(t *testing.T) {
	for _, deaths := range []int{0, mostDeaths} {
		next := recoveredInHand(t)
		if err := next.p.RecallInHand(); err != nil {
			t.Fatal(err)
		}
		d := &deadly{deaths: deaths}
		next.p.Beware(d, [Logs]int64{})
		for range 10 {
			next.mustStep()
		}
		if want := []string{"in hand/much-a", "in hand/much-b"}; !slices.Equal(d.begun, want) {
			t.Errorf("noted are %v, want %v", d.begun, want)
		}
		if e, ok := next.record(0).Events[0].(*events.WorkflowQuarantined); ok != (deaths == mostDeaths) {
			t.Errorf("behind %d deaths the piece comes to %+v", deaths, e)
		}
	}
}
