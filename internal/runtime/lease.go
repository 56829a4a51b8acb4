package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Lease is the holder of a partition. The zero value is free. A stale lease still
// excludes others: a take-over marks, releases and acquires.
type Lease struct {
	Owner       string // empty: nobody
	LeaseID     string
	LeasedUntil int64 // Unix ms
	Stale       bool
	StaleReason string
	Epoch       uint64 // of the acquisition
}

// Fields implements wire.Message.
func (l *Lease) Fields(c *wire.Codec) {
	wire.String(c, 1, "owner", &l.Owner)
	wire.String(c, 2, "lease_id", &l.LeaseID)
	wire.Int(c, 3, "leased_until", &l.LeasedUntil)
	c.Bool(4, "stale", &l.Stale)
	wire.String(c, 5, "stale_reason", &l.StaleReason)
	wire.Int(c, 6, "epoch", &l.Epoch)
}

// Held reports whether somebody owns the partition, expired or not.
func (l Lease) Held() bool { return l.Owner != "" }

// Expired reports whether a held lease has run out at now (Unix ms).
func (l Lease) Expired(now int64) bool { return l.Held() && now >= l.LeasedUntil }

// ErrNotHeld refuses a renewal of a lease that nobody holds.
var ErrNotHeld = errors.New("the partition's lease is not held")

// AlreadyHeldByOtherError refuses an acquisition while another owner holds.
type AlreadyHeldByOtherError struct{ Owner string }

func (e *AlreadyHeldByOtherError) Error() string {
	return fmt.Sprintf("the partition's lease is held by %s", e.Owner)
}

// OwnerMismatchError refuses a renewal by somebody who is not the owner.
type OwnerMismatchError struct{ Owner string }

func (e *OwnerMismatchError) Error() string {
	return fmt.Sprintf("the partition's lease belongs to %s", e.Owner)
}

// OlderEpochError refuses a renewal that names an epoch that is over.
type OlderEpochError struct{ Current, Named uint64 }

func (e *OlderEpochError) Error() string {
	return fmt.Sprintf("the partition's lease is of epoch %d, not %d", e.Current, e.Named)
}

// InvalidError refuses an operation whose arguments make no sense.
type InvalidError struct{ Field, Why string }

func (e *InvalidError) Error() string { return e.Field + ": " + e.Why }

// Acquire gives a free lease to an owner, or renews the owner's own under a new
// id; until is Unix ms.
func (l Lease) Acquire(owner, leaseID string, until int64, cluster string) (*events.AuthorityAcquired, error) {
	if err := check(owner, until); err != nil {
		return nil, err
	}
	if l.Held() && l.Owner != owner {
		return nil, &AlreadyHeldByOtherError{l.Owner}
	}
	return &events.AuthorityAcquired{Owner: owner, LeaseID: leaseID, LeasedUntil: until, ClusterID: cluster}, nil
}

// Renew is the lease of the same owner until later, no longer stale. It is no
// journal event: the result is published with a checkpoint.
func (l Lease) Renew(owner, leaseID string, until int64, epoch uint64) (Lease, error) {
	if err := check(owner, until); err != nil {
		return l, err
	}
	switch {
	case !l.Held():
		return l, ErrNotHeld
	case l.Owner != owner:
		return l, &OwnerMismatchError{l.Owner}
	case epoch < l.Epoch:
		return l, &OlderEpochError{Current: l.Epoch, Named: epoch}
	}
	return Lease{Owner: owner, LeaseID: leaseID, LeasedUntil: until, Epoch: l.Epoch}, nil
}

// MarkStale says that the owner is not trusted any more; it is never refused.
func (l Lease) MarkStale(reason string, by events.By) *events.AuthorityMarkedStale {
	return &events.AuthorityMarkedStale{Reason: reason, By: by}
}

// ForceRelease clears the lease; it is never refused.
func (l Lease) ForceRelease(by events.By) *events.AuthorityReleased {
	return &events.AuthorityReleased{By: by}
}

// TakeOver is what a claimant journals in one record: what is left of
// another owner is marked stale and released, then the claimant acquires.
func (l Lease) TakeOver(owner, leaseID string, until int64, cluster, reason string) ([]events.Event, error) {
	var out []events.Event
	if l.Held() && l.Owner != owner {
		by := events.By{Who: owner, Why: reason}
		if !l.Stale {
			out = append(out, l.MarkStale(reason, by))
		}
		out = append(out, l.ForceRelease(by))
		l = Lease{}
	}
	acquired, err := l.Acquire(owner, leaseID, until, cluster)
	if err != nil {
		return nil, err
	}
	return append(out, acquired), nil
}

// Apply folds an event of a record of the given epoch into the lease; events
// that are not about authority change nothing.
func (l Lease) Apply(e events.Event, epoch uint64) Lease {
	switch e := e.(type) {
	case *events.AuthorityAcquired:
		return Lease{Owner: e.Owner, LeaseID: e.LeaseID, LeasedUntil: e.LeasedUntil, Epoch: epoch}
	case *events.AuthorityMarkedStale:
		l.Stale, l.StaleReason = true, e.Reason
	case *events.AuthorityReleased:
		return Lease{}
	}
	return l
}

func check(owner string, until int64) error {
	if owner == "" {
		return &InvalidError{"owner", "is empty"}
	}
	if until <= 0 {
		return &InvalidError{"leased_until", "is no time"}
	}
	return nil
}

// Published is the lease as the partition's snapshot shows it: what is not
// there is null.
func (l Lease) Published() Authority {
	var a Authority
	if l.Held() {
		a = Held(l.Owner, l.LeaseID, time.UnixMilli(l.LeasedUntil), l.Epoch)
	}
	if l.Stale {
		reason := l.StaleReason
		a.Stale, a.StaleReason = true, &reason
	}
	return a
}

// FromPublished reads the lease back from a snapshot. An unreadable time or a
// lease without an owner is an *InvalidError.
func FromPublished(a Authority) (Lease, error) {
	l := Lease{Stale: a.Stale, StaleReason: text(a.StaleReason)}
	if a.Owner == nil {
		return l, nil
	}
	until, err := time.Parse(time.RFC3339Nano, text(a.LeasedUntil))
	if err != nil {
		return l, &InvalidError{"leased_until", fmt.Sprintf("%q is no RFC 3339 time", text(a.LeasedUntil))}
	}
	l.Owner, l.LeaseID, l.LeasedUntil = *a.Owner, text(a.LeaseID), until.UnixMilli()
	if a.Epoch != nil {
		l.Epoch = *a.Epoch
	}
	return l, check(l.Owner, l.LeasedUntil)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
