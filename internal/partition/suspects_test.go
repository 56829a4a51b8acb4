package partition

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/partition/loop/looptest"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// mortal is a machine at one of whose inputs the process ends.
type mortal struct {
	*looptest.Counter
	at  string // the input
	die func()
}

func (m *mortal) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	if in.Command != nil {
		if b, ok := in.Command.Body.(*events.FeedInput); ok && string(b.Input) == m.at {
			m.die()
		}
	}
	return m.Counter.Decide(tx, at, now, in)
}

// An input at which the process ends is dead-lettered behind its second death under a
// entry; the inputs around it count once.
func TestAnInputThatEndsTheProcessTwiceIsDeadLettered(t *testing.T) {
	inBubble(t, func(r *rig) { r.deadLetter(t, 0) })
}

// So it is behind more repetitions than may be in flight: they leave no record, and
// each owner reads them again.
func TestAnInputBehindRepetitionsThatEndsTheProcessIsDeadLettered(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.settings.InflightRecords = 2
		r.deadLetter(t, 40)
	})
}

// deadLetter gives a workflow an input, that again so many times, one at which the
// process ends, and one more.
func (r *rig) deadLetter(t *testing.T, repetitions int) {
	r.settings.NeverRunsTwice = true
	letters := r.letters()
	p := r.partitionOf("w")
	died := make(chan struct{}, 1)
	r.machine = func(s *site) machine.Machine {
		return &mortal{r.counter, "13", func() {
			s.dead.Store(true)
			died <- struct{}{}
			runtime.Goexit()
		}}
	}
	s := r.start("a", p)
	r.do("w", "start", `{"definition":"counter"}`)
	s.leave()
	ids := []string{r.send("w", "input", `{"input":7}`)}
	for range repetitions {
		r.sendAs(ids[0], p, "w", "input", `{"input":7}`)
	}
	ids = append(ids, r.send("w", "input", `{"input":13}`), r.send("w", "input", `{"input":7}`))
	s = r.start("a", p)
	deaths := 0
	for over := false; !over; {
		select {
		case <-died:
			if deaths++; deaths > 3 {
				t.Fatalf("the process died %d times", deaths)
			}
			s.kill()
			s = r.start("a", p)
		case l := <-letters:
			if l.Workflow != "w" || !strings.Contains(l.Reason, "the process ended 2 times") {
				t.Errorf("the letter is %+v", l)
			}
			over = true
		case <-time.After(time.Minute):
			t.Fatalf("after %d deaths there is no letter within a minute", deaths)
		}
	}
	defer func() { s.leave() }()
	if deaths != 3 {
		t.Errorf("the process died %d times, want once without an entry and twice with one", deaths)
	}
	if got := r.reply(ids[1], 1); got.Refusal == nil || got.Refusal.Code != "quarantined" {
		t.Errorf("the input was answered %+v", got)
	}
	for _, id := range []string{ids[0], ids[2]} {
		if got := r.reply(id, 1); got.Refusal != nil {
			t.Errorf("another input was answered %+v", got)
		}
	}
	if n := r.has(p, "InputAccepted"); n != 2 {
		t.Errorf("%d inputs are accepted, want 2", n)
	}
}

// A tenure that ends in order leaves nothing behind; one whose process ends leaves
// what it was deciding, and a torn line says nothing.
func TestSuspectsOutliveTheirProcessOnly(t *testing.T) {
	fs := vfs.NewCrashableMem()
	o := store.Options{Dir: "store", FS: fs}
	find := func(fs vfs.FS, want bool) *suspects {
		t.Helper()
		o.FS = fs
		s, unclean, err := findSuspects(o)
		if err != nil || unclean != want {
			t.Fatalf("unclean %t, %v", unclean, err)
		}
		return s
	}
	begin := func(s *suspects, key string, want int) {
		t.Helper()
		if n, err := s.Begin(key); err != nil || n != want {
			t.Fatalf("%d deaths at %s, %v, want %d", n, key, err, want)
		}
	}
	s := find(fs, false)
	begin(s, "a", 0)
	if err := s.end(s.path); err != nil {
		t.Fatal(err)
	}
	s = find(fs, false)
	begin(s, "a", 0)
	begin(s, "b", 0)
	var left vfs.FS = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	s = find(left, true)
	begin(s, "a", 0)
	if err := s.Rest(); err != nil {
		t.Fatal(err)
	}
	begin(s, "b", 1)
	f, err := left.OpenReadWrite("store.deciding", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	size, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("beg"), size.Size()); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = find(left, true)
	begin(s, "b", 2)
	begin(s, "a", 0)
}

// Whose tenure ends before all that was in flight is decided has not outlived it: the next
// tenure of the same process is wary too.
func TestWarinessOutlastsATenureThatEndsEarly(t *testing.T) {
	o := store.Options{Dir: "p0", FS: vfs.NewMem()}
	tenures := func(wary bool) (unclean bool) {
		s, unclean, err := findSuspects(o)
		if err != nil {
			t.Fatal(err)
		}
		r := &tenure{suspects: s, proc: &loop.Processor{}}
		if wary {
			r.proc.Beware(s, [loop.Logs]int64{})
		}
		r.inOrder()
		return unclean
	}
	if _, _, err := findSuspects(o); err != nil { // a process that is killed
		t.Fatal(err)
	}
	for i, c := range []struct{ wary, unclean bool }{{true, true}, {true, true}, {false, true}, {false, false}} {
		if got := tenures(c.wary); got != c.unclean {
			t.Errorf("tenure %d finds an unclean end: %t, want %t", i, got, c.unclean)
		}
	}
}
