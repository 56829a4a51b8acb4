package loop

import "sync/atomic"

// Stats count what partitions do. All partitions of a process share one; they
// are read by metrics.
type Stats struct {
	Appended    atomic.Uint64 // journal records
	Committed   atomic.Uint64 // of them, written to the store
	Dropped     atomic.Uint64 // inputs that change nothing: stale outcomes, heartbeats
	Duplicates  atomic.Uint64 // commands that the ledger knew
	Conflicts   atomic.Uint64
	Rejected    atomic.Uint64
	Forwarded   atomic.Uint64
	Oversize    atomic.Uint64
	Quarantined atomic.Uint64
	Released    atomic.Uint64 // effects produced
	Failed      atomic.Uint64 // effects that the broker refused for good
	Lost        atomic.Uint64 // attempts whose worker vanished
	Republished atomic.Uint64 // task records made again
	Queries     atomic.Uint64
	Expired     atomic.Uint64 // queries dropped unanswered
	Timers      atomic.Uint64
	Checkpoints atomic.Uint64
	CheckBytes  atomic.Uint64
	CheckNanos  atomic.Uint64
	Saves       atomic.Uint64 // batches written to stores
	SaveRows    atomic.Uint64 // rows written and deleted by these batches
	SaveBytes   atomic.Uint64
	SaveNanos   atomic.Uint64
	Loads       atomic.Uint64 // stores filled from the changelog
	LoadBytes   atomic.Uint64
	LoadNanos   atomic.Uint64
	Recoveries  atomic.Uint64
	Replayed    atomic.Uint64
	RecoverNs   atomic.Uint64
	Poisoned    atomic.Uint64
	Defects     atomic.Uint64 // panics outside of decisions that were contained
	Left        atomic.Uint64 // times that the process left the group for a reason of its own
	Strays      atomic.Uint64 // records of the changelog that no checkpoint has written
	Parked      atomic.Int64  // effects that wait, as their log takes nothing

	recordLimit atomic.Int64 // of a journal record's value, once the broker has refused one; 0: it has not
}

// LimitRecords takes a limit of journal records for known, behind a record that was
// refused. One that was within the limit known before tells that a record takes more
// room around its value than is thought.
func (s *Stats) LimitRecords(limit int64) {
	if known := s.recordLimit.Load(); known > 0 {
		limit = min(limit, known-RecordOverhead)
	}
	s.recordLimit.Store(max(limit, RecordOverhead))
}

// counts are what a step has done of what every step does: the counters that all
// partitions share are touched once a step.
type counts struct{ appended, released uint64 }

func (s *Stats) add(c *counts) {
	if c.appended > 0 {
		s.Appended.Add(c.appended)
	}
	if c.released > 0 {
		s.Released.Add(c.released)
	}
	*c = counts{}
}
