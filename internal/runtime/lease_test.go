package runtime_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	t1 = int64(1_000_000)
	t2 = int64(2_000_000)
)

// book folds a partition's authority events as its journal does.
type book struct {
	t     *testing.T
	lease runtime.Lease
	epoch uint64
	log   []string
}

func (b *book) fold(es ...events.Event) {
	for _, e := range es {
		if _, ok := e.(*events.AuthorityAcquired); ok {
			b.epoch++
		}
		b.log = append(b.log, events.Name(e))
		b.lease = b.lease.Apply(e, b.epoch)
	}
}

func (b *book) acquire(owner, id string, until int64) error {
	e, err := b.lease.Acquire(owner, id, until, "c")
	if err == nil {
		b.fold(e)
	}
	return err
}

func (b *book) blocked(want ...string) {
	b.t.Helper()
	got := b.lease.Blocked(0, 0)
	if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		b.t.Errorf("blocked by %q, want %q", got, want)
	}
}

func held(t *testing.T) *book {
	t.Helper()
	b := &book{t: t}
	if err := b.acquire("w1", "l1", t1); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAU02AcquireSetsTheLease(t *testing.T) {
	b := held(t)
	if want := (runtime.Lease{Owner: "w1", LeaseID: "l1", LeasedUntil: t1, Epoch: 1}); b.lease != want {
		t.Errorf("lease %+v, want %+v", b.lease, want)
	}
	b.blocked()
}

func TestAU04OwnerMayAcquireAgain(t *testing.T) {
	b := held(t)
	if err := b.acquire("w1", "l2", t2); err != nil {
		t.Fatal(err)
	}
	if b.lease.LeaseID != "l2" || b.lease.LeasedUntil != t2 || b.lease.Epoch != 2 {
		t.Errorf("lease %+v", b.lease)
	}
}

func TestAU05RenewOnFreeIsRefused(t *testing.T) {
	var free runtime.Lease
	if _, err := free.Renew("w1", "l1", t1, 1); !errors.Is(err, runtime.ErrNotHeld) {
		t.Errorf("got %v, want ErrNotHeld", err)
	}
}

func TestAU06RenewByAnotherIsRefused(t *testing.T) {
	b := held(t)
	_, err := b.lease.Renew("w2", "l2", t2, 1)
	var mismatch *runtime.OwnerMismatchError
	if !errors.As(err, &mismatch) || mismatch.Owner != "w1" {
		t.Errorf("got %v, want OwnerMismatch{w1}", err)
	}
}

func TestAU07RenewExtends(t *testing.T) {
	b := held(t)
	l, err := b.lease.Renew("w1", "l2", t2, 1)
	if err != nil || l.LeaseID != "l2" || l.LeasedUntil != t2 || l.Epoch != 1 {
		t.Errorf("lease %+v, %v", l, err)
	}
}

func TestRenewOfAnOlderEpochIsRefused(t *testing.T) {
	b := held(t)
	_ = b.acquire("w1", "l2", t2)
	var older *runtime.OlderEpochError
	if _, err := b.lease.Renew("w1", "l1", t2, 1); !errors.As(err, &older) {
		t.Errorf("got %v, want OlderEpochError", err)
	}
}

func TestAU08MarkedStaleBlocks(t *testing.T) {
	b := held(t)
	b.fold(b.lease.MarkStale("expired", events.By{}))
	b.blocked("authority lease is stale: expired")
}

func TestAU09StaleLeaseStillExcludes(t *testing.T) {
	b := held(t)
	b.fold(b.lease.MarkStale("expired", events.By{}))
	var other *runtime.AlreadyHeldByOtherError
	if err := b.acquire("w2", "l2", t2); !errors.As(err, &other) || other.Owner != "w1" {
		t.Errorf("got %v, want AlreadyHeldByOther{w1}", err)
	}
	if !b.lease.Stale {
		t.Error("a refused acquisition cleared stale")
	}
}

func TestAU12RenewClearsStale(t *testing.T) {
	b := held(t)
	b.fold(b.lease.MarkStale("expired", events.By{}))
	l, err := b.lease.Renew("w1", "l1", t2, 1)
	if err != nil || l.Stale || len(l.Blocked(0, 0)) != 0 {
		t.Errorf("lease %+v, %v", l, err)
	}
}

func TestAU13SecondReasonReplacesTheFirst(t *testing.T) {
	b := held(t)
	b.fold(b.lease.MarkStale("first", events.By{}), b.lease.MarkStale("second", events.By{}))
	b.blocked("authority lease is stale: second")
}

func TestAU14AU16ForceReleaseClearsAndIsIdempotent(t *testing.T) {
	b := held(t)
	b.fold(b.lease.MarkStale("expired", events.By{}), b.lease.ForceRelease(events.By{}))
	if b.lease != (runtime.Lease{}) {
		t.Errorf("lease %+v, want none", b.lease)
	}
	b.blocked("authority lease not acquired")
	b.fold(b.lease.ForceRelease(events.By{}))
	if b.lease != (runtime.Lease{}) {
		t.Errorf("lease %+v, want none", b.lease)
	}
}

func TestAU17StaleOnFreeShowsOnlyNotAcquired(t *testing.T) {
	b := &book{t: t}
	b.fold(b.lease.MarkStale("why", events.By{}))
	if a := b.lease.Published(); !a.Stale || a.Owner != nil {
		t.Errorf("published %+v", a)
	}
	b.blocked("authority lease not acquired")
}

func TestAU18EmptyReason(t *testing.T) {
	b := held(t)
	b.fold(b.lease.MarkStale("", events.By{}))
	b.blocked("authority lease is stale: ")
}

func TestAU19PastLeaseIsExpired(t *testing.T) {
	b := held(t)
	got := b.lease.Blocked(t1, 0)
	if len(got) != 1 || got[0] != "authority lease expired: 1970-01-01T00:16:40Z" {
		t.Errorf("blocked by %q", got)
	}
}

func TestAU22TakeOverMarksReleasesAcquires(t *testing.T) {
	b := held(t)
	es, err := b.lease.TakeOver("w2", "l2", t2, "c", "expired")
	if err != nil {
		t.Fatal(err)
	}
	b.log = nil
	b.fold(es...)
	want := []string{"AuthorityMarkedStale", "AuthorityReleased", "AuthorityAcquired"}
	if !reflect.DeepEqual(b.log, want) || b.lease.Owner != "w2" || b.lease.Epoch != 2 {
		t.Errorf("events %v, lease %+v", b.log, b.lease)
	}
}

func TestRP07BothReasonsInOrder(t *testing.T) {
	got := runtime.Lease{}.Blocked(0, 5)
	want := []string{"authority lease not acquired", "replay has 5 pending events"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("blocked by %q, want %q", got, want)
	}
}

func TestEmptyOwnerIsRefused(t *testing.T) {
	var invalid *runtime.InvalidError
	if _, err := (runtime.Lease{}).Acquire("", "l", t1, "c"); !errors.As(err, &invalid) {
		t.Errorf("got %v, want InvalidError", err)
	}
	if _, err := (runtime.Lease{}).Acquire("w", "l", 0, "c"); !errors.As(err, &invalid) {
		t.Errorf("got %v, want InvalidError", err)
	}
}

func TestPublishedLeaseReadsBack(t *testing.T) {
	b := held(t)
	b.fold(b.lease.MarkStale("why", events.By{}))
	l, err := runtime.FromPublished(b.lease.Published())
	if err != nil || l != b.lease {
		t.Errorf("read back %+v, %v; want %+v", l, err, b.lease)
	}
	broken := b.lease.Published()
	bad := "tomorrow"
	broken.LeasedUntil = &bad
	if _, err := runtime.FromPublished(broken); err == nil {
		t.Error("an unreadable time was accepted")
	}
}
