package partition

import (
	"fmt"
	"testing"
	"time"
)

// The lease says who owns, the group who may claim: an owner that the group does not
// know any more goes on until another claims its partition, and claims nothing itself.
func TestO5AnOwnerThatIsAdriftGoesOnUntilAnotherClaims(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		a := r.start("a", 0)
		epoch := a.await(Owning).Epoch
		o := a.owners[0]
		if !o.Adrift() {
			t.Fatal("an owner that owns was dropped")
		}
		for range 20 { // two leases
			r.counted(fmt.Sprint("adrift-", r.seq), 1)
			r.seq++
			<-time.After(time.Second)
		}
		if got := o.Status(); got.State != Owning || got.Epoch != epoch {
			t.Errorf("the owner is %+v, want it to own at epoch %d", got, epoch)
		}
		b := r.start("b", 0)
		defer b.leave()
		began := time.Now()
		next := b.await(Owning)
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the successor waited for %s: the lease was not released", took)
		}
		<-o.Ended()
		<-time.After(30 * time.Second)
		if got := b.owners[0].Status(); got != next {
			t.Errorf("the successor is %+v, it was %+v", got, next)
		}
		if o.Moor() {
			t.Error("an owner that has ended goes on")
		}
	})
}

// One that is given its partition again is as it was: what ends its tenure lets it
// begin another.
func TestAnOwnerThatIsMooredAgainServesAgain(t *testing.T) {
	inBubbleOf(t, 1, func(r *rig) {
		a := r.start("a", 0)
		defer a.leave()
		epoch := a.await(Owning).Epoch
		o := a.owners[0]
		if !o.Adrift() || !o.Moor() || !o.Moor() {
			t.Fatal("the owner did not go on")
		}
		r.do("_partition/0", "force_release", `{"by":"an operator","why":"to see it serve again"}`)
		for o.Status().Epoch == epoch || o.Status().State != Owning {
			<-time.After(100 * time.Millisecond)
		}
	})
}
