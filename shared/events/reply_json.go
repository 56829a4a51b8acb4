package events

import (
	"encoding/json"
	"strconv"
)

// Replies and statuses are written for every workflow, so they are appended
// field by field: as encoding/json would write them, without checking again the
// JSON that they carry. Labels and Body must be valid JSON and stand in the
// output as they are; what is rare (refusals, failures, text with escapes) is
// left to encoding/json.

// EncodeReply is r as the value of a record on the replies topic.
func EncodeReply(r *Reply) []byte {
	const names = 96 // bytes of the fields' names, the kind and the result
	size := names + len(r.ID) + len(r.Workflow) + len(r.Command) + len(r.Body)
	if r.Summary != nil {
		size += r.Summary.size() + len(r.Workflow)
	}
	return r.AppendJSON(make([]byte, 0, size))
}

// AppendJSON appends r to b. Body must be valid JSON; a refusal is always encoded.
func (r *Reply) AppendJSON(b []byte) []byte {
	b = AppendText(append(b, `{"id":`...), r.ID)
	b = AppendText(append(b, `,"kind":`...), r.Kind)
	b = appendGiven(b, `,"workflow":`, r.Workflow)
	b = appendGiven(b, `,"command":`, r.Command)
	b = appendGiven(b, `,"result":`, r.Result)
	if r.Refusal != nil {
		b = appendAny(append(b, `,"refusal":`...), r.Refusal)
	}
	switch {
	case r.Summary != nil:
		s := r.Summary.Of(r.Workflow)
		b = s.AppendJSON(append(b, `,"body":`...))
	case len(r.Body) > 0:
		b = append(append(b, `,"body":`...), r.Body...)
	}
	return append(b, '}')
}

// EncodeStatus is s as the value of a record on the status topic.
func EncodeStatus(s *Status) []byte {
	return s.AppendJSON(make([]byte, 0, statusSize(&s.Definition, s.Labels)+len(s.ID)))
}

// statusSize is about the length of a status but for its ID.
func statusSize(d *DefinitionRef, labels json.RawMessage) int {
	const rest = 480 // bytes of the fields' names, numbers and times
	return rest + len(d.Name) + len(d.Version) + len(d.Digest) + len(labels)
}

func (s *Summary) size() int { return statusSize(&s.Definition, s.Labels) }

// AppendJSON appends s to b. Labels must be valid JSON. It panics when the
// details of the failure are not.
func (s *Status) AppendJSON(b []byte) []byte {
	b = AppendText(append(b, `{"id":`...), s.ID)
	b = AppendText(append(b, `,"run":`...), s.Run)
	b = AppendText(append(b, `,"status":`...), s.Status)
	b = s.Definition.appendJSON(append(b, `,"definition":`...))
	if len(s.Labels) > 0 {
		b = append(append(b, `,"labels":`...), s.Labels...)
	}
	b = strconv.AppendInt(append(b, `,"partition":`...), int64(s.Partition), 10)
	b = AppendText(append(b, `,"created_at":`...), s.CreatedAt)
	b = AppendText(append(b, `,"updated_at":`...), s.UpdatedAt)
	b = s.Counts.appendJSON(append(b, `,"counts":`...))
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
	b = AppendText(append(b, `,"position":`...), s.Position)
	return append(b, '}')
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
	return append(b, '}')
}

// AppendText appends s as a JSON string, escaped as json.Marshal does.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if !plain(s[i]) {
			return appendAny(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// ParseText is what a JSON string says.
func ParseText(raw json.RawMessage) (string, error) {
	if last := len(raw) - 1; last > 0 && raw[0] == '"' && raw[last] == '"' && plainBytes(raw[1:last]) {
		return string(raw[1:last]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

func plainBytes(b []byte) bool {
	for _, c := range b {
		if !plain(c) {
			return false
		}
	}
	return true
}

// plain reports whether json.Marshal writes a byte of a string as it is, whatever
// stands beside it.
func plain(c byte) bool {
	return ' ' <= c && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
}

func appendGiven(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return AppendText(append(b, name...), s)
}

func appendAny(b []byte, v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // details that are no JSON: a defect of who took them in
	}
	return append(b, raw...)
}
