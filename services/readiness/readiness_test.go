package readiness_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/services/readiness"
)

var (
	now    = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	future = now.Add(10 * time.Second)
	past   = now.Add(-time.Second)
)

func ptr[T any](v T) *T { return &v }

// record makes a record; change alters it.
func record(a runtime.Authority, change ...func(*runtime.Record)) readiness.Published {
	r := &runtime.Record{SchemaVersion: 1, Authority: a, Notes: []string{}}
	for _, f := range change {
		f(r)
	}
	return readiness.Published{Record: r}
}

func stale(a runtime.Authority, reason string) runtime.Authority {
	a.Stale, a.StaleReason = true, &reason
	return a
}

func pending(n uint64) func(*runtime.Record) {
	return func(r *runtime.Record) { r.Replay.PendingEvents = n }
}

func blocked(why string) func(*runtime.Record) {
	return func(r *runtime.Record) { r.Blocked = &why }
}

func TestReasonsAreExact(t *testing.T) {
	held := runtime.Held("w1", "l1", future, 3)
	renewed := runtime.Held("w1", "l2", future.Add(time.Second), 3)
	broken := held
	broken.LeasedUntil = ptr("tomorrow")
	endless := held
	endless.LeasedUntil = nil
	nameless := held
	nameless.Owner = ptr("")
	for _, test := range []struct {
		name string
		in   readiness.Published
		want []string
	}{
		{"AU02 acquired", record(held), nil},
		{"AU07 renewed", record(renewed), nil},
		{"no record", readiness.Published{}, []string{"authority lease not acquired"}},
		{"AU08 stale", record(stale(held, "expired")), []string{"authority lease is stale: expired"}},
		{"AU13 stale again", record(stale(held, "second")), []string{"authority lease is stale: second"}},
		{"AU14 released", record(runtime.Authority{}), []string{"authority lease not acquired"}},
		{"AU17 stale while free", record(stale(runtime.Authority{}, "x")), []string{"authority lease not acquired"}},
		{"AU18 stale without a reason", record(stale(held, "")), []string{"authority lease is stale: "}},
		{"AU19 expired by the clock", record(runtime.Held("w1", "l1", past, 3)), []string{"authority lease expired: 2026-01-02T03:04:04Z"}},
		{"expires at the instant", record(runtime.Held("w1", "l1", now, 3)), []string{"authority lease expired: 2026-01-02T03:04:05Z"}},
		{"stale and expired", record(stale(runtime.Held("w1", "l1", past, 3), "gone")),
			[]string{"authority lease is stale: gone", "authority lease expired: 2026-01-02T03:04:04Z"}},
		{"malformed time", record(broken), []string{`authority lease invalid: leased_until "tomorrow" is no RFC 3339 time`}},
		{"no time", record(endless), []string{"authority lease invalid: leased_until is missing"}},
		{"empty owner", record(nameless), []string{"authority lease invalid: the owner is empty"}},
		{"malformed record", readiness.Published{Malformed: "unexpected end"}, []string{"authority lease invalid: unexpected end"}},
		{"RP06 replaying", record(held, pending(5)), []string{"replay has 5 pending events"}},
		{"RP07 no lease and replaying", record(runtime.Authority{}, pending(5)),
			[]string{"authority lease not acquired", "replay has 5 pending events"}},
		{"blocked", record(runtime.Held("w1", "l1", past, 3), blocked("the journal is gone")),
			[]string{"blocked: the journal is gone", "authority lease expired: 2026-01-02T03:04:04Z"}},
		{"blocked under a lease that lasts", record(held, blocked("it hides")), []string{"blocked: it hides"}},
		{"backlog and deferral never block", record(held, func(r *runtime.Record) {
			r.Backlog = runtime.Backlog{Pending: 9, Failed: 9, Deferred: 9}
			r.Replay.DeferredLeaderNotification = true
		}), nil},
	} {
		s := readiness.Snapshot(test.in, now)
		if !slices.Equal(s.Readiness.Reasons, test.want) || s.Readiness.Ready != (len(test.want) == 0) {
			t.Errorf("%s: got ready %v, %q; want %q", test.name, s.Readiness.Ready, s.Readiness.Reasons, test.want)
		}
	}
}

func TestPS01SnapshotHasAllKeysAndNulls(t *testing.T) {
	const want = `{"schema_version":1,` +
		`"authority":{"owner":null,"lease_id":null,"leased_until":null,"stale":false,"stale_reason":null,"epoch":null},` +
		`"backlog":{"pending":0,"notified":0,"delivered":0,"failed":0,"oldest_pending_since":null,"deferred":0},` +
		`"replay":{"cursor":null,"pending_events":0,"last_replayed_event_id":null,"deferred_leader_notification":false},` +
		`"durability":null,"readiness":{"ready":false,"reasons":["authority lease not acquired"]}}`
	b, err := json.Marshal(readiness.Snapshot(readiness.Published{}, now))
	if err != nil || string(b) != want {
		t.Fatalf("got\n%s, %v; want\n%s", b, err, want)
	}
}

func TestDurabilityComesBackAsItWas(t *testing.T) {
	for _, text := range []string{`"memory"`, `"cache"`, `"fsync"`, `{"replicated":{"rf":3,"min_isr":2}}`} {
		var d runtime.Durability
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(d); err != nil || string(b) != text {
			t.Errorf("%s comes back as %s, %v", text, b, err)
		}
	}
	if err := json.Unmarshal([]byte(`"stone"`), new(runtime.Durability)); err == nil {
		t.Error("a durability that is none was taken")
	}
}

func TestAggregateIsReadyWhenEveryPartitionIs(t *testing.T) {
	held := record(runtime.Held("w1", "l1", future, 3))
	a := readiness.Aggregate([]readiness.Published{held, held}, now, readiness.Limits{})
	if !a.Ready || len(a.Reasons) != 0 || len(a.Partitions) != 2 || a.Partitions[1].Partition != 1 {
		t.Fatalf("got %+v", a)
	}
	a = readiness.Aggregate([]readiness.Published{held, {}, record(runtime.Held("w1", "l1", past, 3), pending(2))}, now, readiness.Limits{})
	want := []string{
		"partition 1: authority lease not acquired",
		"partition 2: authority lease expired: 2026-01-02T03:04:04Z",
		"partition 2: replay has 2 pending events",
	}
	if a.Ready || !slices.Equal(a.Reasons, want) {
		t.Fatalf("got %v, %q; want %q", a.Ready, a.Reasons, want)
	}
	if a := readiness.Aggregate(nil, now, readiness.Limits{}); a.Ready {
		t.Fatal("a deployment without partitions is ready")
	}
}

// What is unread is warned about also where no planner was ever there.
func TestUnreadRecordsAreWarnedOf(t *testing.T) {
	unread := []readiness.Unread{{Topic: "the-inputs", Since: now, Retention: 48 * time.Hour}}
	held := record(runtime.Held("w1", "l1", future, 3))
	held.Unread = unread
	a := readiness.Aggregate([]readiness.Published{held, {Unread: unread}}, now, readiness.Limits{})
	const says = "a record of the-inputs has been unread since 2026-01-02T03:04:05Z, and the cluster deletes it when it is older than 48h0m0s (retention.ms): let a planner read it, or raise that"
	if want := []string{"partition 0: " + says, "partition 1: " + says}; !slices.Equal(a.Warnings, want) {
		t.Errorf("got %q, want %q", a.Warnings, want)
	}
	if !slices.Equal(a.Reasons, []string{"partition 1: authority lease not acquired"}) {
		t.Errorf("reasons %q", a.Reasons)
	}
}

func TestWarningsDoNotBlock(t *testing.T) {
	p := record(runtime.Held("w1", "l1", future, 3), func(r *runtime.Record) {
		r.Backlog.OldestPendingSince = ptr("2026-01-02T03:00:00Z")
		r.Checkpoint = &runtime.Checkpoint{At: "2026-01-02T03:03:00Z", IntervalMs: 1000}
		r.Notes = []string{"the log of commands was truncated"}
	})
	a := readiness.Aggregate([]readiness.Published{p}, now, readiness.Limits{})
	want := []string{
		"partition 0: an attempt has been pending since 2026-01-02T03:00:00Z: nobody takes it",
		"partition 0: the last checkpoint is of 2026-01-02T03:03:00Z",
		"partition 0: the log of commands was truncated",
	}
	if !a.Ready || !slices.Equal(a.Warnings, want) {
		t.Fatalf("got %v, %q; want %q", a.Ready, a.Warnings, want)
	}
}

func TestWarningsNameTheQueuesThatNobodyTakesFrom(t *testing.T) {
	recent := now.UTC().Format(time.RFC3339)
	p := record(runtime.Held("w1", "l1", future, 3), func(r *runtime.Record) {
		r.Backlog.OldestPendingSince = ptr("2026-01-02T03:00:00Z")
		r.Backlog.Queues = map[string]runtime.QueueBacklog{
			"mail":  {Pending: 3, OldestPendingSince: ptr("2026-01-02T03:00:00Z")},
			"bills": {Pending: 1, OldestPendingSince: ptr("2026-01-02T03:00:01Z")},
			"quick": {Pending: 2, OldestPendingSince: ptr(recent)},
			"busy":  {Notified: 7},
		}
	})
	want := []string{
		`an attempt has been pending in queue "bills" since 2026-01-02T03:00:01Z, with 1 pending there in all: nobody takes it`,
		`an attempt has been pending in queue "mail" since 2026-01-02T03:00:00Z, with 3 pending there in all: nobody takes it`,
	}
	if got := readiness.Warnings(p, now, readiness.Limits{}); !slices.Equal(got, want) {
		t.Fatalf("got %q; want %q", got, want)
	}
}

// A pool whose runners are all busy is no reason to warn: what waits there gets a slot in time.
func TestWarningsNameThePoolsWithoutAnEligibleRunner(t *testing.T) {
	recent := now.UTC().Format(time.RFC3339)
	p := record(runtime.Held("w1", "l1", future, 3), func(r *runtime.Record) {
		r.Backlog.Pools = map[string]runtime.PoolBacklog{
			"images":  {Queued: 3, Lost: 1, Draining: 1, OldestQueuedSince: ptr("2026-01-02T03:00:00.000Z")},
			"films":   {Queued: 1, Connected: 2, PassedOver: 2, Slots: 4, OldestQueuedSince: ptr("2026-01-02T03:00:01.000Z")},
			"busy":    {Queued: 9, Connected: 2, PassedOver: 1, Slots: 4, Running: 4, OldestQueuedSince: ptr("2026-01-02T03:00:00.000Z")},
			"new":     {Queued: 1, OldestQueuedSince: ptr(recent)},
			"at rest": {},
		}
	})
	want := []string{
		`an attempt has waited in pool "films" since 2026-01-02T03:00:01.000Z, with 1 waiting there in all: none of its 2 connected runners gets new work`,
		`an attempt has waited in pool "images" since 2026-01-02T03:00:00.000Z, with 3 waiting there in all: no runner is connected`,
	}
	if got := readiness.Warnings(p, now, readiness.Limits{}); !slices.Equal(got, want) {
		t.Fatalf("got %q; want %q", got, want)
	}
}

func TestExpiryIsTheEndOfTheLease(t *testing.T) {
	if at, ok := readiness.Expiry(record(runtime.Held("w1", "l1", future, 3))); !ok || !at.Equal(future) {
		t.Fatalf("got %v, %v", at, ok)
	}
	for _, p := range []readiness.Published{{}, {Malformed: "x"}, record(runtime.Authority{})} {
		if _, ok := readiness.Expiry(p); ok {
			t.Fatalf("%+v expires", p)
		}
	}
}
