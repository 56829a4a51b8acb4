package journal

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
)

// written is a record of a made-up journal, and whether it is lawful by the way
// it came about.
type written struct {
	at       events.Position
	replaces *uint64
	lawful   bool
}

// makeJournal plays owners, zombies, lost appends, repeated appends and
// claimants that were overtaken.
func makeJournal(t *rapid.T) []written {
	var list []written
	var current events.Position
	next := map[uint64]uint64{} // by epoch: the seq that its owner writes next
	broken := false             // the owner's append got lost; it does not know yet
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0: // the lawful owner's successor
			replaced := current.Epoch
			current = events.Position{Epoch: replaced + 1, Seq: 1}
			next[current.Epoch], broken = 2, false
			list = append(list, written{current, &replaced, true})
		case 1: // a claimant that knew an older state of things
			if current.Epoch > 0 {
				replaced := rapid.Uint64Range(0, current.Epoch-1).Draw(t, "replaced")
				list = append(list, written{events.Position{Epoch: replaced + 1, Seq: 1}, &replaced, false})
			}
		case 2: // an append gets lost
			if current.Epoch > 0 {
				next[current.Epoch]++
				broken = true
			}
		case 3, 4: // an older owner that is alive
			if current.Epoch > 1 {
				e := rapid.Uint64Range(1, current.Epoch-1).Draw(t, "zombie")
				list = append(list, written{events.Position{Epoch: e, Seq: next[e]}, nil, false})
				next[e]++
			}
		case 5: // written twice
			if len(list) > 0 {
				again := rapid.SampledFrom(list).Draw(t, "again")
				again.lawful = false
				list = append(list, again)
			}
		default: // the owner
			if current.Epoch > 0 {
				at := events.Position{Epoch: current.Epoch, Seq: next[current.Epoch]}
				next[current.Epoch]++
				list = append(list, written{at, nil, !broken})
				if !broken {
					current = at
				}
			}
		}
	}
	return list
}

func TestFilterKnowsTheLawfulRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Filter
		for i, w := range makeJournal(t) {
			if got := f.Lawful(w.at.Epoch, w.at.Seq, w.replaces); got != w.lawful {
				t.Fatalf("record %d, %s: lawful is %v, want %v", i, w.at, got, w.lawful)
			}
			if w.lawful && f.Last() != w.at {
				t.Fatalf("record %d: last is %s, want %s", i, f.Last(), w.at)
			}
		}
	})
}

func TestFilterMayStartAtOrBehindAnyLawfulRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := makeJournal(t)
		at := rapid.IntRange(0, max(0, len(list)-1)).Draw(t, "start")
		for at < len(list) && !list[at].lawful {
			at++
		}
		if at >= len(list) {
			return
		}
		behind := After(list[at].at)
		for i, w := range list[at+1:] {
			if behind.Lawful(w.at.Epoch, w.at.Seq, w.replaces) != w.lawful {
				t.Fatalf("behind record %d: record %d is judged otherwise", at, at+1+i)
			}
		}
		from := rapid.IntRange(0, at).Draw(t, "read from")
		before := At(list[at].at)
		for i, w := range list[from:] {
			want := w.lawful && from+i >= at
			if before.Lawful(w.at.Epoch, w.at.Seq, w.replaces) != want {
				t.Fatalf("at record %d, from %d on: record %d is judged otherwise", at, from, from+i)
			}
		}
	})
}

func TestLawfulPositionsAscendWithoutHolesInAnEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f Filter
		last := events.Position{}
		small := rapid.Uint64Range(0, 3)
		for range rapid.IntRange(0, 40).Draw(t, "records") {
			at := events.Position{Epoch: small.Draw(t, "epoch"), Seq: small.Draw(t, "seq")}
			var replaces *uint64
			if rapid.Bool().Draw(t, "takeover") {
				r := small.Draw(t, "replaces")
				replaces = &r
			}
			if !f.Lawful(at.Epoch, at.Seq, replaces) {
				continue
			}
			follows := at == events.Position{Epoch: last.Epoch, Seq: last.Seq + 1} && at.Epoch > 0 && replaces == nil
			takes := at.Epoch > last.Epoch && at.Seq == 1 && replaces != nil && *replaces == last.Epoch
			if !follows && !takes {
				t.Fatalf("%s follows %s", at, last)
			}
			last = at
		}
	})
}
