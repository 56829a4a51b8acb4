package main

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/sdk/client"
)

// Each partition has a line of the table; what keeps it from being ready and what it is warned about comes below.
// Nothing of it reaches the terminal raw.
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
		"PARTITION OWNER EPOCH STATE LEASE CHECKPOINT PENDING RUNNING REPLAY CURSOR",
		"0 p1/3 4 ready 7s 1m30s ago 3 2 0 17",
		"1 free 0 0 0",
		"2 p1/3 4 replaying 7s 3 2 5 17",
		"3 p1/3 4 stale expired 2s ago 3 2 0 17",
		"4 blocked 0 0 0",
		"partition 0: a log is late",
		"partition 1: authority lease not acquired",
		"partition 2: replay has 5 pending events",
		`partition 3: authority lease is stale: \x1b[2J`,
		"partition 4: blocked: the journal was made anew",
		"partition 4: authority lease not acquired",
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

// The table fits a terminal of 100 columns, however long the reasons are: here a partition that works, and has done so for long.
func TestPartitionsFitATerminal(t *testing.T) {
	cursor, now := "log/63@12345678", time.Now()
	s := runtime.Snapshot{
		Authority: runtime.Held("planner-1/KEBL7KKGY7", "l", now.Add(10*time.Second), 123),
		Backlog:   runtime.Backlog{Pending: 12345, Notified: 1234},
		Replay:    runtime.Replay{Cursor: &cursor},
		Readiness: runtime.Readiness{Ready: true},
	}
	var out strings.Builder
	checkpoint := &runtime.Checkpoint{At: runtime.FormatTime(now.Add(-90 * time.Second))}
	printPartitions(&out, &client.Readiness{Warnings: []string{"partition 63: " + strings.Repeat("long ", 30)}, Partitions: []runtime.Partition{{Partition: 63, Snapshot: s, Checkpoint: checkpoint}}}, now)
	for _, line := range strings.Split(out.String(), "\n")[:2] {
		if len(line) > 100 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
