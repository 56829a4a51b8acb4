package readiness_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/heddle-run/heddle/services/readiness"
)

// looks are looks five seconds after each other at a lag of commands.
func looks(t *readiness.Trend, at *time.Time, lags ...int64) {
	for _, lag := range lags {
		*at = at.Add(5 * time.Second)
		t.Add(readiness.Look{At: *at, Lag: map[string]int64{"commands": lag}})
	}
}

func TestALagThatGrowsIsWarnedOf(t *testing.T) {
	rising := func(n int) (all []int64) {
		for i := range int64(n) {
			all = append(all, 100*i)
		}
		return all
	}
	for name, c := range map[string]struct {
		lags []int64
		want string
	}{
		"none":                       {nil, ""},
		"for a minute":               {rising(13), "the lag of commands has grown for 1m0s, to 1200 records: more comes than planners decide"},
		"for less":                   {rising(12), ""},
		"for longer":                 {rising(20), "the lag of commands has grown for 1m35s, to 1900 records: more comes than planners decide"},
		"it shrank once":             {append(rising(20), 0), ""},
		"it shrank, and grows again": {append(append(rising(20), 0), rising(13)...), "the lag of commands has grown for 1m5s, to 1200 records: more comes than planners decide"},
		"it stays":                   {slices.Repeat([]int64{5000}, 30), ""},
		"by little":                  {append(slices.Repeat([]int64{5000}, 30), 5999), ""},
	} {
		trend, at := readiness.Trend{DeadLetters: "dlq"}, now
		looks(&trend, &at, c.lags...)
		want := []string{c.want}
		if c.want == "" {
			want = nil
		}
		if got := trend.Warnings(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// A lag that is not known is as it was, and before it was ever known it was nothing to grow from.
func TestALagThatIsNotKnownDoesNotGrow(t *testing.T) {
	trend, at := readiness.Trend{DeadLetters: "dlq"}, now
	unknown := func(n int) {
		for range n {
			at = at.Add(5 * time.Second)
			trend.Add(readiness.Look{At: at, Dead: -1})
		}
	}
	unknown(20)
	looks(&trend, &at, 5000)
	unknown(20)
	if got := trend.Warnings(); got != nil {
		t.Errorf("got %q", got)
	}
	looks(&trend, &at, 6000)
	if got, want := trend.Warnings(), []string{"the lag of commands has grown for 1m45s, to 6000 records: more comes than planners decide"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of an archive that falls behind something else is said: nothing is lost by that.
func TestAnArchiveThatFallsBehindIsWarnedOf(t *testing.T) {
	trend, at := readiness.Trend{}, now
	for i := range int64(13) {
		at = at.Add(5 * time.Second)
		trend.Add(readiness.Look{At: at, Lag: map[string]int64{readiness.Archive: 100 * i}})
	}
	want := []string{"the archive has come to lag more and more behind the journal for 1m0s, by 1200 records now: nothing is lost, and nothing is deleted for it; is an archiver running?"}
	if got := trend.Warnings(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	trend.Add(readiness.Look{At: at.Add(5 * time.Second), Lag: map[string]int64{readiness.Archive: 3}})
	if got := trend.Warnings(); len(got) > 0 {
		t.Errorf("it has caught up: %q", got)
	}
}

func TestNewDeadLettersAreWarnedOfForAWhile(t *testing.T) {
	trend, at := readiness.Trend{DeadLetters: "letters"}, now
	look := func(dead int64) []string {
		at = at.Add(time.Minute)
		trend.Add(readiness.Look{At: at, Dead: dead})
		return trend.Warnings()
	}
	if got := look(7); got != nil {
		t.Errorf("of old ones: %q", got)
	}
	if got, want := look(9), []string{"2 records came to letters within the last 1m0s: see heddle dlq"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := look(-1); len(got) != 1 {
		t.Errorf("nothing is known: %q", got)
	}
	for range 8 {
		if got := look(9); len(got) != 1 {
			t.Errorf("after %s: %q", at.Sub(now), got)
		}
	}
	if got := look(9); got != nil {
		t.Errorf("ten minutes later: %q", got)
	}
}

func TestPartitionsWithoutReplicasAreNamed(t *testing.T) {
	var down []string
	for i := range 12 {
		down = append(down, fmt.Sprint("partition ", i))
	}
	trend := readiness.Trend{}
	trend.Add(readiness.Look{At: now, Down: down})
	if got := trend.Warnings(); !slices.Equal(got, append(slices.Clone(down[:10]), "2 more partitions of topics are like that")) {
		t.Errorf("got %q", got)
	}
	trend.Add(readiness.Look{At: now.Add(time.Second), Down: down[:1]})
	if got := trend.Warnings(); !slices.Equal(got, down[:1]) {
		t.Errorf("got %q", got)
	}
	trend.Add(readiness.Look{At: now.Add(2 * time.Second)})
	if got := trend.Warnings(); got != nil {
		t.Errorf("all are back: %q", got)
	}
}
