package sim

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/heddle-run/heddle/internal/partition"
)

// lasting is the fault of a planner that cannot serve, for a reason of its own that lasts.
const lasting = "lasting"

// leaveAfter is how long a planner stays in its group with such a reason, about.
const leaveAfter = time.Second

// drawLasting draws lasting reasons, for some seeds, from dice of their own.
func (o *Options) drawLasting() []Fault {
	if len(o.Kinds) > 0 && !slices.Contains(o.Kinds, lasting) {
		return nil
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x6c617374696e67))
	if len(o.Kinds) == 0 && rng.IntN(5) > 0 {
		return nil
	}
	var all []Fault
	for range 1 + rng.IntN(2) {
		all = append(all, Fault{rng.IntN(max(1, o.Steps/2)), lasting, rng.Uint64()})
	}
	return all
}

// attend lets a planner be a member of its group for as long as it can serve, in runs with
// lasting reasons. In others it is one from its start to its end.
func (ms *members) attend(n *node) {
	if !slices.ContainsFunc(ms.meant, func(f Fault) bool { return f.Kind == lasting }) {
		return
	}
	n.away = true
	ms.setMember(n, false)
	ctx, stop := context.WithCancel(as(context.Background(), "attendance"))
	n.unattend = stop
	a := &partition.Attendance{Host: n.host, Group: membership{n}}
	n.ending.Go(func() { _ = a.Run(ctx) }) // joining fails only for one that ends
	ms.at(sessionTimeout, "the group waits for "+n.name+" no longer", func() {
		if ms.runs(n) && n.away {
			ms.expelled(n, ms.groupDice())
		}
	})
	settle()
}

// runs reports whether a process of a planner runs: at the end there is one slot only.
func (ms *members) runs(n *node) bool { return n.slot < len(ms.nodes) && ms.nodes[n.slot] == n }

// groupDice draw what the group decides by itself.
func (ms *members) groupDice() *rand.Rand { return rand.New(rand.NewPCG(ms.o.Seed, 5+uint64(ms.step))) }

func (ms *members) setMember(n *node, is bool) {
	ms.c.mu.Lock()
	defer ms.c.mu.Unlock()
	if is {
		ms.c.group.members[n.name] = true
	} else {
		delete(ms.c.group.members, n.name)
	}
}

// membership is a planner's in the simulated group: a partition.Group.
type membership struct{ n *node }

// Join implements partition.Group.
func (m membership) Join(ctx context.Context) error {
	return m.n.w.members.wish(ctx, m.n, "joins the group", m.n.join)
}

// Leave implements partition.Group.
func (m membership) Leave(ctx context.Context) {
	_ = m.n.w.members.wish(ctx, m.n, "leaves the group", m.n.goAway) // it ends with the process
}

// Others implements partition.Group.
func (m membership) Others(ctx context.Context) (others int, err error) {
	err = m.n.w.members.wish(ctx, m.n, "asks who else is a member", func() { others = m.n.w.members.othersOf(m.n) })
	return others, err
}

func (ms *members) othersOf(of *node) (others int) {
	for _, n := range ms.nodes {
		if n != nil && n != of && !n.away {
			others++
		}
	}
	return others
}

// wish is what a planner wants of its group. The scheduler's goroutine grants it.
type wish struct {
	n    *node
	what string
	do   func()
	done chan struct{}
}

func (ms *members) wish(ctx context.Context, n *node, what string, do func()) error {
	mine := wish{n, what, do, make(chan struct{})}
	ms.mu.Lock()
	ms.wishes = append(ms.wishes, mine)
	ms.mu.Unlock()
	select {
	case <-mine.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// grant grants what planners want of their group, but for those that it does not hear.
func (ms *members) grant() {
	ms.mu.Lock()
	all := ms.wishes
	ms.wishes = nil
	ms.mu.Unlock()
	slices.SortStableFunc(all, func(a, b wish) int { return cmp.Compare(a.n.slot, b.n.slot) })
	for _, wanted := range all {
		switch n := wanted.n; {
		case !ms.runs(n): // it ends
		case n.silent():
			ms.mu.Lock()
			ms.wishes = append(ms.wishes, wanted)
			ms.mu.Unlock()
		default:
			ms.tell(n.about(), "  %s %s", n.name, wanted.what)
			wanted.do()
			close(wanted.done)
			settle()
		}
	}
}

// join makes a planner a member, which is given what waits for it, or something else.
func (n *node) join() {
	w := n.w
	n.away = false
	w.members.setMember(n, true)
	given := false
	for p, slot := range w.owner {
		if slot == n.slot {
			w.members.assign(int32(p), slot)
			given = true
		}
	}
	p := int32(w.members.groupDice().IntN(len(w.owner)))
	if from := w.owner[p]; !given && from >= 0 && w.nodes[from] != nil && !w.nodes[from].silent() {
		w.nodes[from].revoke(p)
		w.members.assign(p, n.slot)
	}
}

// goAway ends the membership of a planner: others get what it had, if there are any.
func (n *node) goAway() {
	w, rng := n.w, n.w.members.groupDice()
	n.away = true
	for _, p := range n.owned() {
		n.revoke(p)
	}
	w.members.setMember(n, false)
	w.members.expelled(n, rng)
}

// lastingReason fills the disk of a planner for longer than it stays a member with that.
func (ms *members) lastingReason(rng *rand.Rand) {
	n := ms.injector.someNode(rng)
	if n == nil {
		return
	}
	fs := n.fs
	fs.Fill()
	ms.filled = append(ms.filled, fs)
	ms.tell(n.about(), "  the disk of %s is full, and stays so", n.name)
	lasts := millis(rng, 3000, 30_000)
	ms.at(lasts, "there is room on the disk of "+slotName(n.slot)+" again", fs.Free)
	ms.watchLasting(n, time.Now().Add(lasts))
}

// watchLasting holds that a planner does not keep partitions that it cannot serve while
// another one could.
func (ms *members) watchLasting(n *node, until time.Time) {
	s := ms.settings().Complete()
	bound := 4*s.LeaveAfter + s.Lease + 2*time.Second
	var since time.Time
	others := ms.others
	var look func()
	look = func() {
		now := time.Now()
		switch {
		case !ms.runs(n) || ms.others != others || !now.Before(until):
			return
		case n.away || ms.othersOf(n) == 0 || !n.recovers():
			since = time.Time{}
		case since.IsZero():
			since = now
		case now.Sub(since) > bound:
			ms.fail("%s cannot serve for %v, and keeps what another planner could serve", n.name, now.Sub(since))
			return
		}
		ms.at(500*time.Millisecond, "the disk of "+n.name+" is full", look)
	}
	look()
}

// recovers reports whether a planner has a partition that it does not serve.
func (n *node) recovers() bool {
	for _, o := range n.owners {
		if o.Status().State == partition.Recovering {
			return true
		}
	}
	return false
}
