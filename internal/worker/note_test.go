package worker

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestANoteIsReadAsItWasWritten(t *testing.T) {
	for _, done := range [][]interval{nil, {{8, 8}}, {{8, 20}, {22, 22}, {400, 1 << 40}}} {
		if got := decodeNote(7, encodeNote(7, done, mostNote)); !slices.Equal(got, done) {
			t.Errorf("%v became %v", done, got)
		}
	}
	for _, foreign := range []string{"", "consumed by somebody", noteVersion + "%", noteVersion + "/////////////w"} {
		if got := decodeNote(7, foreign); got != nil {
			t.Errorf("%q says %v", foreign, got)
		}
	}
}

// A note that would be too long leaves out the newest.
func TestANoteIsBounded(t *testing.T) {
	var done []interval
	for i := range int64(10_000) {
		done = append(done, interval{10 + 300*i, 10 + 300*i})
	}
	for _, most := range []int{len(noteVersion), 100, mostNote} {
		note := encodeNote(7, done, most)
		got := decodeNote(7, note)
		if len(note) > most || !slices.Equal(got, done[:len(got)]) {
			t.Errorf("within %d characters the note has %d and says %d intervals", most, len(note), len(got))
		}
		if room := most - len(note); room > 8 && most > 10 {
			t.Errorf("%d of %d characters are not used", room, most)
		}
	}
	if n := strings.Count(encodeNote(0, []interval{{1, 1 << 62}}, mostNote), ":"); n != 1 {
		t.Errorf("a note has %d colons", n)
	}
}

// A note that is carried on says nothing of what is committed, or nobody could read
// the rest of it.
func TestANoteIsCarriedOnBehindWhatIsCommitted(t *testing.T) {
	rest := []interval{{12, 12}, {15, 20}}
	p := &partition{noted: append([]interval{{10, 10}}, rest...)}
	if !p.known(10) {
		t.Fatal("what is noted is not known")
	}
	p.enter(10, 1).finish()
	at, note := p.point(mostNote)
	if got := decodeNote(at.Offset, note); at.Offset != 11 || !slices.Equal(got, rest) {
		t.Errorf("committed is %d with %v, want 11 with %v", at.Offset, got, rest)
	}
}

// Whatever the order in which records end and workers follow each other, offset and
// note say of exactly those that they are done that are.
func TestASuccessorKnowsWhatIsDone(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		done := map[int64]bool{}
		next, base := int64(50), int64(50)
		note := ""
		for range 4 {
			p := &partition{noted: decodeNote(base, note)}
			var open []place
			for offset := base; offset < next+int64(r.IntN(40)); offset++ {
				known := p.known(offset)
				if known != done[offset] {
					t.Fatalf("seed %d: %d is known: %v, done: %v", seed, offset, known, done[offset])
				}
				at := p.enter(offset, 1)
				if known {
					at.finish()
				} else if r.IntN(3) > 0 {
					at.finish()
					done[offset] = true
				}
				open = append(open, at)
				next = max(next, offset+1)
			}
			if len(open) == 0 {
				continue
			}
			at, text := p.point(mostNote)
			for offset := base; offset < at.Offset; offset++ {
				if !done[offset] {
					t.Fatalf("seed %d: %d is committed, and not done", seed, offset)
				}
			}
			base, note = at.Offset, text
		}
	}
}
