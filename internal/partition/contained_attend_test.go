package partition

import (
	"context"
	"testing"
	"time"
)

// tripping is a Group the first call of each of whose methods meets a defect.
type tripping struct {
	Group
	joined, left bool
}

// Join implements Group.
func (g *tripping) Join(ctx context.Context) error {
	if !g.joined {
		g.joined = true
		panic("a join that cannot be")
	}
	return g.Group.Join(ctx)
}

// Leave implements Group.
func (g *tripping) Leave(ctx context.Context) {
	if !g.left {
		g.left = true
		panic("a departure that cannot be")
	}
	g.Group.Leave(ctx)
}

// A defect of who attends the group is no end: the process becomes a member, and one
// that has to leave does.
func TestAPanicOfWhoAttendsIsNoEnd(t *testing.T) {
	inBubble(t, func(r *rig) {
		c := newCrowd()
		r.over = func(all Cluster) Cluster { return mute{all, []int32{0, 1}, 0} }
		a := r.attendsBy(c, "a", func(g Group) Group { return &tripping{Group: g} })
		defer a.leaveForGood()
		r.passes("it joins, and serves what it can", func() bool { n, _ := c.serves(); return n == 2 })
		r.over = nil
		b := r.attends(c, "b")
		defer b.leaveForGood()
		<-time.After(time.Minute)
		r.passes("it leaves the rest to another one", func() bool { n, members := c.serves(); return n == 4 && members == 1 })
		if n := a.Stats.Defects.Load(); n != 2 || a.attend.Member() {
			t.Errorf("%d defects were counted, want 2; it is a member: %t", n, a.attend.Member())
		}
	})
}
