package main

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/sdk/client"
)

// Each partition has a line, with what keeps it from being ready and what it is warned
// about; nothing of it reaches the terminal raw.
func TestPartitionsAreListedWithTheirReasons(t *testing.T) {
	cursor, now := "log/0@17", time.Now()
	owned := runtime.Snapshot{
		Authority: runtime.Held("p1/3", "l", now.Add(7*time.Second), 4),
		Backlog:   runtime.Backlog{Pending: 3, Notified: 2},
		Replay:    runtime.Replay{Cursor: &cursor},
		Readiness: runtime.Readiness{Ready: true},
	}
	free := runtime.Snapshot{Readiness: runtime.Readiness{Reasons: []string{"authority lease not acquired"}}}
	late := owned
	late.Replay.PendingEvents = 5
	late.Readiness = runtime.Readiness{Reasons: []string{"replay has 5 pending events"}}
	stale := owned
	stale.Authority = runtime.Held("p1/3", "l", now.Add(-2*time.Second), 4)
	stale.Authority.Stale = true
	stale.Readiness = runtime.Readiness{Reasons: []string{"authority lease is stale: \x1b[2J"}}
	blocked := runtime.Snapshot{Readiness: runtime.Readiness{Reasons: []string{"blocked: the journal was made anew", "authority lease not acquired"}}}
	all := &client.Readiness{Warnings: []string{"partition 0: a log is late", "partition 10: of another"}}
	for p, s := range []runtime.Snapshot{owned, free, late, stale, blocked} {
		all.Partitions = append(all.Partitions, runtime.Partition{Partition: int32(p), Snapshot: s})
	}
	var out strings.Builder
	all.Partitions[0].Checkpoint = &runtime.Checkpoint{At: runtime.FormatTime(now.Add(-90 * time.Second))}
	printPartitions(&out, all, now)
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"PARTITION OWNER EPOCH STATE LEASE CHECKPOINT PENDING RUNNING REPLAY CURSOR REASON",
		"0 p1/3 4 ready 7s 1m30s ago 3 2 0 log/0@17 a log is late",
		"1 free 0 0 0 authority lease not acquired",
		"2 p1/3 4 replaying 7s 3 2 5 log/0@17 replay has 5 pending events",
		`3 p1/3 4 stale expired 2s ago 3 2 0 log/0@17 authority lease is stale: \x1b[2J`,
		"4 blocked 0 0 0 blocked: the journal was made anew; authority lease not acquired",
	} {
		if got := strings.Join(strings.Fields(lines[i]), " "); got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

// Without a word of the readiness service the table says so.
func TestPartitionsSayThatNobodyHasPublishedAny(t *testing.T) {
	var out strings.Builder
	printPartitions(&out, &client.Readiness{Reasons: []string{"no readiness record"}}, time.Now())
	if !strings.Contains(out.String(), "no readiness record") {
		t.Errorf("printed %q", out.String())
	}
}
