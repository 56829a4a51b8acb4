package delivery

// State is what a delivery has come to.
type State string

// The states of a delivery.
const (
	Pending   State = "pending"   // nobody has the work yet: it is to be tried, or to be tried again
	Notified  State = "notified"  // the worker has the work
	Delivered State = "delivered" // its outcome was applied
	Failed    State = "failed"    // it can never be delivered, or nobody knows what became of it
)

// Verdict is the state of a delivery and why it is that.
type Verdict struct {
	State  State
	Reason Reason
}

// Observations are what was seen of a delivery. Those behind one that is false were not looked for, and
// are not looked at.
type Observations struct {
	Present   bool // a target is named
	Resolved  bool // there is such a target
	Preflight bool // it could take input
	Send      bool // the input was handed over
	Confirmed bool // the target showed that it has taken it
	Active    bool // the target showed that it works on it
	Retry     bool // another delivery may follow

	// Why says more of the first of Resolved, Preflight and Send that is false. Empty: the usual.
	Why string
}

// The usual for a target that is not resolved, not ready, or takes no input.
const (
	UnresolvedTarget = "unresolved_target"
	PaneNotReady     = "pane_not_ready"
	NotSent          = "not_sent"
)

// Classify is the verdict about a delivery: the first observation that fits decides.
func Classify(o Observations) Verdict {
	switch {
	case !o.Present:
		return Verdict{Failed, MissingTarget}
	case !o.Resolved:
		return Verdict{Failed, TargetResolutionFailed.with(o.Why, UnresolvedTarget)}
	case !o.Preflight:
		return Verdict{Failed, PreflightFailed.with(o.Why, PaneNotReady)}
	case !o.Send:
		return Verdict{Failed, SendFailed.with(o.Why, NotSent)}
	case o.Confirmed && o.Active:
		return Verdict{Notified, SendConfirmedActiveTask}
	case o.Confirmed:
		return Verdict{Notified, SendConfirmed}
	case o.Retry:
		return Verdict{Pending, SendUnconfirmed}
	}
	return Verdict{Failed, UnconfirmedAfterMaxRetries}
}

// Beforehand is what is seen before a delivery is tried.
type Beforehand struct {
	Leader    bool // the party to be told is there, or there is none
	Accepting bool // the target takes input at the moment, as far as it was looked at
	Later     bool // the transport can try again later
}

// Defer is the verdict about a delivery whose time has not come; false: it is to be tried. Without
// a later time a missing leader fails it at once; that the target does not accept is then for Classify, as
// a preflight.
func Defer(b Beforehand) (Verdict, bool) {
	switch {
	case !b.Leader && b.Later:
		return Verdict{Pending, LeaderMissingDeferred}, true
	case !b.Leader:
		return Verdict{Failed, LeaderMissing}, true
	case !b.Accepting && b.Later:
		return Verdict{Pending, DeferredNotInjectable}, true
	}
	return Verdict{}, false
}

// Then is the verdict after a later one about the same delivery. What has failed stays failed: a late
// confirmation changes only the reason.
func (v Verdict) Then(later Verdict) Verdict {
	if v.State == Failed {
		later.State = Failed
	}
	return later
}
