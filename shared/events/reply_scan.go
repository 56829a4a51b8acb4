package events

import (
	"math"

	"github.com/heddle-run/heddle/shared/scan"
)

// StatusText is a status as it was scanned: its texts, and its parts in JSON, are
// parts of what they were read from.
type StatusText struct {
	ID, Run, Status       []byte
	Name, Version, Digest []byte // of the definition
	Labels                []byte // JSON; nil when there are none
	Partition             int32
	Created, Updated      []byte
	Counts                Counts
	Failure               []byte // JSON
	ConditionErrors       []byte // JSON; nil when there are none
	Refusals              []byte // likewise
	Position              []byte
}

// ScanStatus takes a status that is written as Status.AppendJSON writes it, in
// plain letters; anything else is strange.
func ScanStatus(s *scan.Scan) (t StatusText) {
	t.ID = s.Text(`{"id":`)
	t.Run = s.Text(`,"run":`)
	t.Status = s.Text(`,"status":`)
	t.Name = s.Text(`,"definition":{"name":`)
	t.Version = s.Text(`,"version":`)
	t.Digest = s.Text(`,"digest":`)
	s.Literal(`}`)
	if s.Has(`,"labels":`) {
		t.Labels = s.Value()
	}
	partition := s.Natural(`,"partition":`)
	if t.Partition = int32(partition); partition > math.MaxInt32 {
		s.Fail()
	}
	t.Created = s.Text(`,"created_at":`)
	t.Updated = s.Text(`,"updated_at":`)
	t.Counts.scan(s)
	s.Literal(`,"failure":`)
	t.Failure = s.Value()
	if s.Has(`,"condition_errors":`) {
		t.ConditionErrors = s.Value()
	}
	if s.Has(`,"refusals":`) {
		t.Refusals = s.Value()
	}
	t.Position = s.Text(`,"position":`)
	s.Literal(`}`)
	return t
}

func (n *Counts) scan(s *scan.Scan) {
	n.Ready = s.Natural(`,"counts":{"ready":`)
	n.Waiting = s.Natural(`,"waiting":`)
	n.Active = s.Natural(`,"active":`)
	n.Completed = s.Natural(`,"completed":`)
	n.Failed = s.Natural(`,"failed":`)
	n.Skipped = s.Natural(`,"skipped":`)
	n.Suppressed = s.Natural(`,"suppressed":`)
	n.Cancelled = s.Natural(`,"cancelled":`)
	s.Literal(`}`)
}

// ScanDrained takes what stands in a reply ReplyDrained before the value of its
// results, as planners write it: `"workflow":`, a status and `}}` follow them. A
// refusal, and any other reply, is strange.
func ScanDrained(s *scan.Scan) {
	s.Text(`{"id":`)
	s.Literal(`,"kind":"` + ReplyDrained + `"`)
	if s.Has(`,"workflow":`) {
		s.Text("")
	}
	if s.Has(`,"result":`) {
		s.Text("")
	}
	s.Literal(`,"body":{"results":`)
}
