package events

import (
	"encoding/json"
)

// Replies carry results, which may be large, so they are appended field by field: as
// encoding/json would write them, but Body, which must be valid JSON, stands in the
// output as it is. It is neither checked nor copied again.

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
		s := *r.Summary
		s.ID = r.Workflow
		b = s.AppendJSON(append(b, `,"body":`...))
	case len(r.Body) > 0:
		b = append(append(b, `,"body":`...), r.Body...)
	}
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
