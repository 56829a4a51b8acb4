package partition

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// crashSeeds is how many schedules are tried; HEDDLE_SEEDS asks for more.
func crashSeeds() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("HEDDLE_SEEDS"), 10, 64); err == nil {
		return n
	}
	return 20
}

// Killed anywhere, again and again, a partition comes to the same sums as one
// that was never disturbed: nothing is lost, nothing is applied twice.
func TestCrashEquivalence(t *testing.T) {
	for seed := range crashSeeds() {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inBubbleOf(t, 1, func(r *rig) { crashes(t, r, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func crashes(t *testing.T, r *rig, rnd *rand.Rand) {
	r.settings.NeverRunsTwice = true
	r.settings.LagRecords = 1 + rnd.Uint64N(60)
	r.settings.CheckpointBytes = 1 << (7 + rnd.IntN(8)) // most workflows fit into a part or do not
	workflows := []string{"w0", "w1", "m2", "m3"}       // m: checkpointed by command only
	r.slowAdder(rnd)
	s := r.start("a", 0)
	want := map[string]int64{}
	for _, w := range workflows {
		r.send(w, "start", `{"definition":"counter"}`)
	}
	for range 4 + rnd.IntN(4) {
		for range 1 + rnd.IntN(12) {
			w := workflows[rnd.IntN(len(workflows))]
			n := rnd.Int64N(100)
			r.send(w, "input", fmt.Sprintf(`{"input":%d}`, n))
			want[w] += n
			if rnd.IntN(4) == 0 {
				<-time.After(time.Duration(rnd.IntN(800)) * time.Millisecond)
			}
		}
		if rnd.IntN(5) == 0 {
			r.send("m2", "checkpoint", `{}`)
		}
		<-time.After(time.Duration(rnd.IntN(2500)) * time.Millisecond)
		s = r.disturb(s, rnd)
	}
	for _, w := range workflows {
		if got := r.settled(w); got != want[w] {
			t.Errorf("%s is %d, want %d", w, got, want[w])
		}
	}
	s.leave()
	live := r.dump("a-0")
	fresh := r.start("fresh", 0) // from changelog and journal alone
	for _, w := range workflows {
		if got := r.settled(w); got != want[w] {
			t.Errorf("restored elsewhere %s is %d, want %d", w, got, want[w])
		}
	}
	fresh.leave()
	if replayed := r.dump("fresh-0"); !maps.Equal(live, replayed) {
		for k, v := range live {
			if replayed[k] != v {
				t.Errorf("row %s is %s, restored %s", k, v, replayed[k])
			}
		}
		t.Errorf("the live state has %d rows, the restored one %d", len(live), len(replayed))
	}
}

// dump is what a store has of the state that the journal alone decides.
func (r *rig) dump(dir string) map[string]string {
	r.t.Helper()
	s, err := store.Open(store.Options{Dir: dir, FS: r.fs})
	r.must(err)
	all := map[string]string{}
	for _, table := range []rows.Table{rows.Header, rows.Runnable, rows.Timer, rows.Ledger, rows.Expiry, rows.Received, rows.ReceivedAge} {
		r.must(s.ScanTable(table, func(k rows.Key, value []byte) bool {
			all[fmt.Sprintf("%+v", k)] = fmt.Sprintf("%x", value)
			return true
		}))
	}
	r.must(s.Close())
	if len(all) == 0 {
		r.t.Errorf("the store %s is empty", dir)
	}
	return all
}

// disturb ends a process in some way and starts its successor, on its store or
// on another one.
func (r *rig) disturb(s *site, rnd *rand.Rand) *site {
	p, owning := s.owners[0].p, s.owners[0].Status().State == Owning
	switch rnd.IntN(4) {
	case 0:
		s.leave()
	case 1:
		s.loseAll()
	default:
		s.kill()
	}
	if owning {
		r.mustBeFold(p)
	}
	if rnd.IntN(3) == 0 {
		r.forgetIn("a", p)
	}
	next := r.start("a", p)
	if rnd.IntN(3) == 0 { // a crash in the middle of the recovery
		<-time.After(time.Duration(rnd.IntN(20)) * time.Millisecond)
		next.kill()
		next = r.start("a", p)
	}
	return next
}

// slowAdder takes a while for each addition, and gives some outcomes twice.
func (r *rig) slowAdder(rnd *rand.Rand) {
	source := rand.New(rand.NewPCG(rnd.Uint64(), 2))
	r.tail(r.names.Tasks("default"), func(k *kgo.Record) {
		var task events.Task
		if err := wire.Unmarshal(k.Value, &task); err != nil {
			r.t.Errorf("a task cannot be read: %v", err)
			return
		}
		if !json.Valid(task.Input) {
			r.t.Errorf("a task has no input: %q", task.Input)
		}
		times := 1 + source.IntN(2)
		for range times {
			time.AfterFunc(time.Duration(source.IntN(1500))*time.Millisecond, func() { r.outcome(string(k.Key), &task) })
		}
	})
}
