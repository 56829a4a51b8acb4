package delivery

import (
	"fmt"
	"testing"
)

// table is that of the design: a dot takes either.
var table = []struct {
	seen  string // present, resolved, preflight, send, confirmed, active, retry
	state State
	why   string
}{
	{"0......", Failed, "missing_target"},
	{"10.....", Failed, "target_resolution_failed:unresolved_target"},
	{"110....", Failed, "preflight_failed:pane_not_ready"},
	{"1110...", Failed, "send_failed:not_sent"},
	{"111111.", Notified, "send_confirmed_active_task"},
	{"111110.", Notified, "send_confirmed"},
	{"11110.1", Pending, "send_unconfirmed"},
	{"11110.0", Failed, "unconfirmed_after_max_retries"},
}

func fits(pattern, seen string) bool {
	for i := range pattern {
		if pattern[i] != '.' && pattern[i] != seen[i] {
			return false
		}
	}
	return true
}

func observed(seen string) Observations {
	at := func(i int) bool { return seen[i] == '1' }
	return Observations{
		Present: at(0), Resolved: at(1), Preflight: at(2), Send: at(3), Confirmed: at(4), Active: at(5), Retry: at(6),
	}
}

// All 128 observations have the verdict of the one row of the table that they fit.
func TestEveryObservationHasItsVerdict(t *testing.T) {
	for n := range 128 {
		seen := fmt.Sprintf("%07b", n)
		rows := 0
		for _, row := range table {
			if !fits(row.seen, seen) {
				continue
			}
			rows++
			if got := Classify(observed(seen)); got.State != row.state || string(got.Reason) != row.why {
				t.Errorf("%s: %v, want %s %s", seen, got, row.state, row.why)
			}
		}
		if rows != 1 {
			t.Errorf("%s fits %d rows", seen, rows)
		}
	}
}

// A reason tells the state that it gives: a worker tells of both, and what does not fit is no word of a delivery.
func TestAReasonTellsItsState(t *testing.T) {
	for i := range 1 << 7 {
		if v := Classify(observed(fmt.Sprintf("%07b", i))); v.Reason.State() != v.State {
			t.Errorf("%07b: %v, of its reason the state is %s", i, v, v.Reason.State())
		}
	}
	for _, b := range []Beforehand{{Later: true}, {}, {Leader: true, Later: true}} {
		if v, _ := Defer(b); v.Reason.State() != v.State {
			t.Errorf("%+v: %v, of its reason the state is %s", b, v, v.Reason.State())
		}
	}
}

// The cases of the reference, by their ids.
func TestClassificationCases(t *testing.T) {
	for _, c := range []struct {
		id, seen string
		want     Verdict
	}{
		{"CL02", "1011111", Verdict{Failed, "target_resolution_failed:unresolved_target"}},
		{"CL03", "1101111", Verdict{Failed, "preflight_failed:pane_not_ready"}},
		{"CL06", "1111110", Verdict{Notified, SendConfirmedActiveTask}},
		{"CL06", "1111111", Verdict{Notified, SendConfirmedActiveTask}},
		{"CL07", "1111001", Verdict{Pending, SendUnconfirmed}},
		{"CL07", "1111011", Verdict{Pending, SendUnconfirmed}},
	} {
		if got := Classify(observed(c.seen)); got != c.want {
			t.Errorf("%s %s: %v, want %v", c.id, c.seen, got, c.want)
		}
	}
	if got := Classify(Observations{Present: true, Why: "no_server"}).Reason; got != "target_resolution_failed:no_server" {
		t.Errorf("with what was seen: %s", got)
	}
}

func TestCL11WorkersAreNudgedTwiceButClaude(t *testing.T) {
	p, err := NewSubmitPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{
		"codex": 2, "gemini": 2, "": 2, "claude-code": 2, "claude": 1, " Claude\t": 1, "CODEX": 2,
	} {
		if got := p.Presses(kind); got != want {
			t.Errorf("%q: %d presses, want %d", kind, got, want)
		}
	}
}

func TestCL12APolicyOfNoPressesIsRaisedToOne(t *testing.T) {
	p, err := NewSubmitPolicy(map[string]int{" Aider": 0, "claude": 3, "": 1})
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]int{"aider": 1, "claude": 3, "": 1, "codex": 2} {
		if got := p.Presses(kind); got != want {
			t.Errorf("%q: %d presses, want %d", kind, got, want)
		}
	}
	for _, n := range []int{-1, 11} {
		if _, err := NewSubmitPolicy(map[string]int{"x": n}); err == nil {
			t.Errorf("%d presses are accepted", n)
		}
	}
}

func TestCL17ALateConfirmationChangesTheReasonOfAFailureOnly(t *testing.T) {
	late := Verdict{Notified, SendConfirmed}
	if got := (Verdict{Failed, UnconfirmedAfterMaxRetries}).Then(late); got != (Verdict{Failed, SendConfirmed}) {
		t.Errorf("failed, then confirmed: %v", got)
	}
	if got := (Verdict{Pending, SendUnconfirmed}).Then(late); got != late {
		t.Errorf("pending, then confirmed: %v", got)
	}
}

func TestWhatIsDeferredBeforeItIsTried(t *testing.T) {
	for _, c := range []struct {
		seen Beforehand
		want Verdict
	}{
		{Beforehand{Leader: false, Accepting: true, Later: true}, Verdict{Pending, LeaderMissingDeferred}},
		{Beforehand{Leader: false, Accepting: false, Later: true}, Verdict{Pending, LeaderMissingDeferred}},
		{Beforehand{Leader: false, Accepting: true, Later: false}, Verdict{Failed, LeaderMissing}}, // DF05
		{Beforehand{Leader: false, Accepting: false, Later: false}, Verdict{Failed, LeaderMissing}},
		{Beforehand{Leader: true, Accepting: false, Later: true}, Verdict{Pending, DeferredNotInjectable}},
		{Beforehand{Leader: true, Accepting: false, Later: false}, Verdict{}},
		{Beforehand{Leader: true, Accepting: true, Later: true}, Verdict{}},
		{Beforehand{Leader: true, Accepting: true, Later: false}, Verdict{}},
	} {
		got, deferred := Defer(c.seen)
		if got != c.want || deferred != (c.want != Verdict{}) {
			t.Errorf("%+v: %v, %v; want %v", c.seen, got, deferred, c.want)
		}
	}
}

func TestReasonsOfTheReferenceAreAliases(t *testing.T) {
	for text, want := range map[string]Reason{
		"tmux_send_keys_confirmed":             SendConfirmed,
		"tmux_send_keys_confirmed_active_task": SendConfirmedActiveTask,
		"tmux_send_keys_unconfirmed":           SendUnconfirmed,
		"leader_pane_missing_deferred":         LeaderMissingDeferred,
		"missing_tmux_target":                  MissingTarget,
		"deferred_shell":                       DeferredNotInjectable,
		" send_unconfirmed\n":                  SendUnconfirmed,
		"preflight_failed:pane_dead":           "preflight_failed:pane_dead",
	} {
		if got, ok := ParseReason(text); !ok || got != want {
			t.Errorf("%q is %q, %v; want %q", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "sent", "preflight_failed", "preflight_failed:", "send_confirmed:x", "SEND_CONFIRMED"} {
		if got, ok := ParseReason(text); ok {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}

// What is read as a reason is read as the same one again.
func FuzzParseReason(f *testing.F) {
	for r, takes := range reasons { // order: any corpus will do
		f.Add(string(r))
		if takes {
			f.Add(string(r) + ":x")
		}
	}
	for text := range aliases { // order: any corpus will do
		f.Add(" " + text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := ParseReason(text)
		if !ok {
			return
		}
		if again, ok := ParseReason(string(r)); !ok || again != r {
			t.Errorf("%q is %q, and that %q, %v", text, r, again, ok)
		}
	})
}
