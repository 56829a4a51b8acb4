package partition

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

// slowTxns is a cluster whose transactions take their time, one byte of the
// changelog after the other, and one of which may hang.
type slowTxns struct {
	Cluster
	rate  int // bytes a second; 0: they take none
	state string

	mu   sync.Mutex
	runs int           // transactions that were begun
	hang int           // the number of the one that hangs; 0: none
	hung chan struct{} // closed when it does
}

func (c *slowTxns) Txn(p int32) (Txn, error) {
	t, err := c.Cluster.Txn(p)
	return &slowTxn{t, c}, err
}

// count counts a transaction and reports whether it is the one to hang.
func (c *slowTxns) count() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs++
	return c.runs == c.hang
}

type slowTxn struct {
	Txn
	c *slowTxns
}

func (t *slowTxn) Run(ctx context.Context, records []*kgo.Record, commit *kafka.Commit) error {
	if t.c.count() {
		close(t.c.hung)
		<-ctx.Done()
		return ctx.Err()
	}
	if t.c.rate > 0 {
		bytes := 0
		for _, r := range records {
			if r.Topic == t.c.state {
				bytes += len(r.Key) + len(r.Value)
			}
		}
		sleep(ctx, time.Duration(bytes)*time.Second/time.Duration(t.c.rate))
	}
	return t.Txn.Run(ctx, records, commit)
}

// A checkpoint that takes much longer than a lease is written once, in parts that
// keep the lease, and its owner goes on meanwhile.
func TestC3ACheckpointLongerThanALeaseIsWritten(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		r.settings = loop.Settings{Lease: 2 * time.Second, CheckpointBytes: 1 << 20}
		a := r.start("a", 0)
		a.await(Owning)
		large := `{"input":"` + strings.Repeat("x", 256<<10) + `"}`
		const workflows = 30
		slow := &slowTxns{rate: 500 << 10, state: r.names.State()}
		a.kill()
		r.over = func(c Cluster) Cluster { slow.Cluster = c; return slow }
		a = r.start("b", 0)
		defer a.leave()
		epoch := a.await(Owning).Epoch
		for i := range workflows {
			w := fmt.Sprint("w", i)
			r.do(w, "start", `{"definition":"counter"}`)
			r.do(w, "input", large)
		}
		before := a.Stats.Checkpoints.Load()
		for range 40 { // 7.5 MiB take 15 s
			<-time.After(time.Second)
		}
		if got := a.owners[0].Status(); got.State != Owning || got.Epoch != epoch {
			t.Fatalf("the partition is %+v, want it owned at epoch %d", got, epoch)
		}
		if a.Stats.Checkpoints.Load() == before {
			t.Error("no checkpoint was finished")
		}
		if sum, open := r.query("w3"); sum != 0 || open != 1 {
			t.Errorf("w3 is %d with %d open", sum, open)
		}
	})
}

// One workflow that does not fit into a part is written as well.
func TestC3AWorkflowLargerThanAPartIsWritten(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		slow := &slowTxns{rate: 400 << 10, state: r.names.State()}
		r.settings = loop.Settings{Lease: 2 * time.Second, CheckpointBytes: 256 << 10}
		r.over = func(c Cluster) Cluster { slow.Cluster = c; return slow }
		a := r.start("a", 0)
		epoch := a.await(Owning).Epoch
		r.do("m", "start", `{"definition":"counter"}`)
		for range 40 {
			r.do("m", "input", `{"input":"`+strings.Repeat("x", 100<<10)+`"}`)
		}
		r.do("_partition/0", "checkpoint", `{"by":"ann","why":"test"}`)
		for range 60 {
			<-time.After(time.Second)
		}
		if got := a.owners[0].Status(); got.State != Owning || got.Epoch != epoch {
			t.Fatalf("the partition is %+v, want it owned at epoch %d", got, epoch)
		}
		a.kill()
		b := r.start("elsewhere", 0)
		defer b.leave()
		b.await(Owning)
		if _, open := r.query("m"); open != 40 {
			t.Errorf("m has %d open additions, want 40", open)
		}
		if n := b.Stats.Replayed.Load(); n > 2 {
			t.Errorf("%d records were replayed behind a checkpoint of everything", n)
		}
	})
}

// Whichever part of a checkpoint an owner dies before, another one restores the
// state that the journal gives, and so does a third after its own checkpoints; and
// nothing is left of what the first had in the redo log.
func TestC3EveryPartLeavesAChangelogToRestoreFrom(t *testing.T) {
	redone, n := 0, 1
	for more := true; more && !t.Failed(); n++ {
		t.Run(fmt.Sprintf("part=%d", n), func(t *testing.T) {
			inBubbleOf(t, 1, func(r *rig) {
				var left int
				more, left = diesAt(t, r, n)
				redone += left
			})
		})
	}
	if n < 8 || redone == 0 {
		t.Errorf("the checkpoint had %d parts, and %d chunks were in the redo log", n, redone)
	}
}

// diesAt lets an owner die at a part of a checkpoint, and reports whether there was one,
// and how much it left in redo logs.
func diesAt(t *testing.T, r *rig, n int) (more bool, redone int) {
	r.settings = loop.Settings{CheckpointBytes: 900, NeverRunsTwice: true}
	dying := &slowTxns{state: r.names.State(), hung: make(chan struct{})}
	r.over = func(c Cluster) Cluster { dying.Cluster = c; return dying }
	a := r.start("a", 0)
	a.await(Owning)
	fill := func() {
		for _, w := range []string{"m1", "w2"} {
			for range 6 {
				r.do(w, "input", `{"input":"`+strings.Repeat("x", 220)+`"}`)
			}
		}
	}
	for _, w := range []string{"m1", "w2"} {
		r.do(w, "start", `{"definition":"counter"}`)
	}
	fill()
	<-time.After(20 * time.Second) // all of this is in a checkpoint
	fill()
	dying.mu.Lock()
	dying.hang = dying.runs + n
	dying.mu.Unlock()
	r.do("_partition/0", "checkpoint", `{"by":"ann","why":"test"}`)
	more = true
	select {
	case <-dying.hung:
	case <-time.After(4 * time.Second):
		more = false
	}
	a.kill()
	redone = len(r.chunks())
	r.over = nil
	r.forgetIn("a", 0)
	r.restoresTo("a", 12)
	if n%3 == 0 { // on its own store
		r.restoresTo("a", 12)
	}
	r.forgetIn("a", 0)
	r.restoresTo("a", 12)
	if left := r.chunks(); len(left) > 0 {
		t.Errorf("of redo logs %v are left", left)
	}
	return more, redone
}

// restoresTo starts a process on a store, lets it write checkpoints, and holds its
// store against the journal.
func (r *rig) restoresTo(instance string, open int64) {
	r.t.Helper()
	b := r.start(instance, 0)
	b.await(Owning)
	for _, w := range []string{"m1", "w2"} {
		r.do(w, "input", `{"input":1}`)
	}
	_, first := r.query("m1")
	_, second := r.query("w2")
	if first != second || first < open/2 {
		r.t.Errorf("m1 has %d open additions, w2 %d", first, second)
	}
	r.do("_partition/0", "checkpoint", `{"by":"ann","why":"test"}`)
	<-time.After(3 * time.Second)
	b.leave()
	r.mustBeFold(0)
}

// chunks are the chunks of redo logs in the changelog.
func (r *rig) chunks() map[string]bool {
	r.t.Helper()
	all := map[string]bool{}
	r.eachOf(r.names.State(), func(k *kgo.Record) error {
		var c chunkCounts
		if c.note(k.Key, []byte{}); c.of != nil {
			all[fmt.Sprintf("%x", k.Key)] = k.Value != nil
		}
		return nil
	})
	maps.DeleteFunc(all, func(_ string, there bool) bool { return !there })
	return all
}

// While more is dirty than the bound, no input is taken; when a part is out, some are.
func TestC3InputsWaitForACheckpointThatIsFarBehind(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		slow := &slowTxns{rate: 100 << 10, state: r.names.State()}
		const bound = 300 << 10
		r.settings = loop.Settings{CheckpointBytes: 100 << 10, DirtyBytes: bound}
		r.over = func(c Cluster) Cluster { slow.Cluster = c; return slow }
		a := r.start("a", 0)
		defer a.leave()
		a.await(Owning)
		r.do("m", "start", `{"definition":"counter"}`)
		const inputs = 30
		ids := make([]string, inputs)
		for i := range ids {
			ids[i] = r.send("m", "input", `{"input":"`+strings.Repeat("x", 50<<10)+`"}`)
		}
		began := time.Now()
		for _, id := range ids {
			r.reply(id, 1)
		}
		if took := time.Since(began); took < 5*time.Second {
			t.Errorf("1.5 MiB were taken in %v, of which 300 KiB may be dirty at 100 KiB/s", took)
		}
	})
}
