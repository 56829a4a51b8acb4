package partition

import (
	"context"
	"hash/fnv"
	"sync/atomic"
	"time"

	"github.com/heddle-run/heddle/internal/partition/defect"
)

// Group is the planner group as one process meets it.
type Group interface {
	// Join makes the process a member. Its partitions come to it until it leaves.
	Join(ctx context.Context) error
	// Leave gives all partitions up, in order as far as that is possible in
	// bounded time, and ends the membership.
	Leave(ctx context.Context)
	// Others counts the members beside this process.
	Others(ctx context.Context) (int, error)
}

// Attendance keeps a process a member of the planner group for as long as it can
// serve. It checks before it joins. As a member it leaves once a reason of its own
// has lasted, and joins again when that is gone. Fields may be set before Run.
//
// Nobody is helped by a planner that leaves what nobody else can serve: for a
// reason that concerns some partitions only (a leader that it does not reach, a
// locked store) it leaves only if there is another member, and joins all the same
// after a while if there is none. Each time that it leaves it takes twice as long to
// leave again, up to a bound, and no two planners take equally long: what all of
// them suffer from does not make them come and go.
type Attendance struct {
	Host  *Host
	Group Group

	unfit  atomic.Pointer[UnfitError]
	member atomic.Bool

	patience time.Duration // how long a reason lasts before the process leaves
}

const (
	// mostPatience bounds, in times of Settings.LeaveAfter, how long a reason
	// lasts before a planner that has left again and again leaves once more.
	mostPatience = 16
	// checksPerLease is how often a process that is not served well, or not a
	// member, is checked.
	checksPerLease = 5
)

// Unfit is why the process is not, or soon will not be, a member; nil if there is
// nothing.
func (a *Attendance) Unfit() *UnfitError { return a.unfit.Load() }

// Member reports whether the process is a member of the group.
func (a *Attendance) Member() bool { return a.member.Load() }

// Run attends until ctx ends, and does not leave then. The error is that of the
// first Join; a later one that fails is tried again. So is whatever meets a defect: the
// process stays what it was.
func (a *Attendance) Run(ctx context.Context) error {
	a.patience = a.least()
	for outside := time.Duration(0); ctx.Err() == nil; outside = a.patience {
		var err error
		a.attend(ctx, func(ctx context.Context) { err = a.enter(ctx, outside) })
		if err != nil {
			return err
		}
		a.attend(ctx, a.stay)
	}
	return nil
}

func (a *Attendance) attend(ctx context.Context, run func(context.Context)) {
	defect.Keep(ctx, a.Host.logger, a.Host.Stats, run, func(error) {})
}

// least is the patience of a process that has not left for long: unlike that of
// others by up to a half.
func (a *Attendance) least() time.Duration {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(a.Host.Owner)) // a hash never fails
	base := a.Host.Settings.LeaveAfter
	return base + base*time.Duration(sum.Sum32()%1024)/2048
}

func (a *Attendance) pace() time.Duration { return a.Host.Settings.Lease / checksPerLease }

// enter joins once the process is fit, or so long after it left if nobody else is
// there and something could be served.
func (a *Attendance) enter(ctx context.Context, outside time.Duration) error {
	for began := time.Now(); ctx.Err() == nil; sleep(ctx, a.pace()) {
		unfit := a.Host.Fit(ctx)
		a.tell(unfit, "the planner does not join the group")
		if ctx.Err() != nil {
			return nil
		}
		if unfit == nil || !unfit.whole() && time.Since(began) >= outside && a.alone(ctx) {
			err := a.Group.Join(ctx)
			switch {
			case err == nil:
				a.member.Store(true)
				return nil
			case outside == 0:
				return err
			}
			a.Host.logger.Warn("joining the planner group again", "error", err)
		}
	}
	return nil
}

// alone reports whether the group is known to have no other member.
func (a *Attendance) alone(ctx context.Context) bool {
	n, err := a.others(ctx)
	return err == nil && n == 0
}

func (a *Attendance) others(ctx context.Context) (int, error) {
	ctx, stop := context.WithTimeout(ctx, askTimeout)
	defer stop()
	return a.Group.Others(ctx)
}

// stay returns when the process has left the group, or ctx has ended.
func (a *Attendance) stay(ctx context.Context) {
	well, since := time.Now(), time.Time{}
	for sleep(ctx, a.pace()); ctx.Err() == nil; sleep(ctx, a.pace()) {
		var unfit *UnfitError
		if a.Host.troubled() {
			unfit = a.Host.Fit(ctx)
		}
		a.tell(unfit, "the planner may leave the group")
		now := time.Now()
		switch {
		case unfit == nil:
			since = time.Time{}
			if now.Sub(well) >= mostPatience*a.least() {
				a.patience = a.least()
			}
		case since.IsZero():
			since, well = now, now
		case now.Sub(since) >= a.patience && !a.Host.Flaws.Clings.On() && a.mayLeave(ctx, unfit):
			a.leave(ctx)
			return
		default:
			well = now
		}
	}
}

// mayLeave reports whether somebody may be better off without this member.
func (a *Attendance) mayLeave(ctx context.Context, unfit *UnfitError) bool {
	if unfit.whole() && !a.Host.serving() {
		return true
	}
	n, err := a.others(ctx)
	return err == nil && n > 0
}

func (a *Attendance) leave(ctx context.Context) {
	a.Host.Stats.Left.Add(1)
	a.Host.logger.Warn("the planner leaves the group", "reason", a.Unfit().Error())
	a.Group.Leave(ctx)
	a.member.Store(false)
	a.patience = min(2*a.patience, mostPatience*a.least())
}

// tell logs each state once.
func (a *Attendance) tell(unfit *UnfitError, what string) {
	was := a.unfit.Swap(unfit)
	switch {
	case unfit != nil && (was == nil || was.Need != unfit.Need):
		a.Host.logger.Warn(what, "need", unfit.Need, "reason", unfit.Err)
	case unfit == nil && was != nil:
		a.Host.logger.Info("the planner is fit again", "need", was.Need)
	}
}

// troubled reports whether some partition that this process was given is not served,
// but for those that wait for a lease or for an operator.
func (h *Host) troubled() bool {
	for _, o := range h.Owners() {
		switch o.Status().State {
		case Recovering:
			return true
		case Owning:
			if !o.served(h.Settings.Lease) {
				return true
			}
		}
	}
	return false
}

// serving reports whether some partition is served here.
func (h *Host) serving() bool {
	for _, o := range h.Owners() {
		if o.served(h.Settings.Lease) {
			return true
		}
	}
	return false
}
