package events

import "strconv"

// Summaries are written some times for every workflow, so they are appended field by
// field: as encoding/json would write them in more than twice the time. What is rare
// (failures, refusals) is left to it.

// EncodeSummary is s as the value of a record on the status topic.
func EncodeSummary(s *Summary) []byte { return s.AppendJSON(make([]byte, 0, s.size())) }

// size is about the length of s as JSON.
func (s *Summary) size() int {
	const rest = 480 // bytes of the fields' names, numbers and times
	return rest + len(s.ID) + len(s.Definition.Name) + len(s.Definition.Version) + len(s.Definition.Digest) + len(s.Labels)
}

// AppendJSON appends s to b. Labels must be valid JSON and stand in the output as they
// are. It panics when the details of the failure are not.
func (s *Summary) AppendJSON(b []byte) []byte {
	b = AppendText(append(b, `{"id":`...), s.ID)
	b = s.Run.appendTo(append(b, `,"run":"`...))
	b = AppendText(append(b, `","status":`...), s.Status)
	b = s.Definition.appendJSON(append(b, `,"definition":`...))
	if len(s.Labels) > 0 {
		b = append(append(b, `,"labels":`...), s.Labels...)
	}
	b = strconv.AppendInt(append(b, `,"partition":`...), int64(s.Partition), 10)
	b = s.Created.appendTo(append(b, `,"created_at":"`...))
	b = s.Updated.appendTo(append(b, `","updated_at":"`...))
	b = s.Counts.appendJSON(append(b, `","counts":`...))
	b = append(b, `,"failure":`...)
	if s.Failure == nil {
		b = append(b, "null"...)
	} else {
		b = appendAny(b, s.Failure)
	}
	if s.ConditionErrors != nil {
		b = appendAny(append(b, `,"condition_errors":`...), s.ConditionErrors)
	}
	if s.Refusals != nil {
		b = appendAny(append(b, `,"refusals":`...), s.Refusals)
	}
	if s.Signals != nil {
		b = appendAny(append(b, `,"signals":`...), s.Signals)
	}
	if s.Notice != nil {
		b = appendAny(append(b, `,"notice":`...), s.Notice)
	}
	if s.InHand {
		b = append(b, `,"in_hand":true`...)
	}
	b = s.Position.appendTo(append(b, `,"position":"`...))
	return append(b, `"}`...)
}

func (d *DefinitionRef) appendJSON(b []byte) []byte {
	b = AppendText(append(b, `{"name":`...), d.Name)
	b = AppendText(append(b, `,"version":`...), d.Version)
	b = AppendText(append(b, `,"digest":`...), d.Digest)
	return append(b, '}')
}

func (n *Counts) appendJSON(b []byte) []byte {
	b = strconv.AppendUint(append(b, `{"ready":`...), n.Ready, 10)
	b = strconv.AppendUint(append(b, `,"waiting":`...), n.Waiting, 10)
	b = strconv.AppendUint(append(b, `,"active":`...), n.Active, 10)
	b = strconv.AppendUint(append(b, `,"completed":`...), n.Completed, 10)
	b = strconv.AppendUint(append(b, `,"failed":`...), n.Failed, 10)
	b = strconv.AppendUint(append(b, `,"skipped":`...), n.Skipped, 10)
	b = strconv.AppendUint(append(b, `,"suppressed":`...), n.Suppressed, 10)
	b = strconv.AppendUint(append(b, `,"cancelled":`...), n.Cancelled, 10)
	if n.Uncertain > 0 { // summaries of journals that know of none stay as they were
		b = strconv.AppendUint(append(b, `,"uncertain":`...), n.Uncertain, 10)
	}
	return append(b, '}')
}
