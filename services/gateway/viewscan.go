package gateway

import (
	"bytes"
	"encoding/json"
	"time"
)

// scanRow reads a status that is written as the planner writes it: the fields
// of events.Status in their order, without spaces, in plain letters. It is what
// unmarshalRow is, for a tenth of the time; false: not written so.
func scanRow(status []byte) (row, bool) {
	s := scan{rest: status}
	r := row{known: true}
	s.text(`{"id":"`)
	s.text(`,"run":"`)
	r.status = s.text(`,"status":"`)
	r.name = s.text(`,"definition":{"name":"`)
	r.version = s.text(`,"version":"`)
	r.digest = s.text(`,"digest":"`)
	s.literal(`}`)
	if s.has(`,"labels":`) {
		s.value(`,"partition":`)
	}
	s.number(`,"partition":`)
	created := s.text(`,"created_at":"`)
	s.text(`,"updated_at":"`)
	for _, count := range scanCounts {
		s.number(count)
	}
	s.literal(`},"failure":`)
	s.value(`,"position":"`)
	position := s.text(`,"position":"`)
	s.literal(`}`)
	var at time.Time
	if s.strange || len(s.rest) > 0 || at.UnmarshalText(created) != nil {
		return row{}, false
	}
	r.created, r.position = at.UnixMilli(), positionOf(string(position))
	return r, true
}

var scanCounts = []string{
	`,"counts":{"ready":`, `,"waiting":`, `,"active":`, `,"completed":`,
	`,"failed":`, `,"skipped":`, `,"suppressed":`, `,"cancelled":`,
}

// scan takes a text from its beginning. Once it is strange, it stays so, and
// what is taken means nothing.
type scan struct {
	rest    []byte
	strange bool
}

// has takes a literal if it comes next.
func (s *scan) has(literal string) bool {
	if len(s.rest) < len(literal) || string(s.rest[:len(literal)]) != literal {
		return false
	}
	s.rest = s.rest[len(literal):]
	return true
}

func (s *scan) literal(want string) {
	if !s.has(want) {
		s.strange = true
	}
}

// text takes a literal that ends with a quote, what is quoted, and the closing
// quote. All that JSON could write in two ways is strange.
func (s *scan) text(before string) []byte {
	s.literal(before)
	for i, c := range s.rest {
		if c == '"' {
			t := s.rest[:i]
			s.rest = s.rest[i+1:]
			return t
		}
		if c < ' ' || c > '~' || c == '\\' {
			break
		}
	}
	s.strange = true
	return nil
}

// number takes a literal and a natural number.
func (s *scan) number(before string) {
	s.literal(before)
	n := 0
	for n < len(s.rest) && '0' <= s.rest[n] && s.rest[n] <= '9' {
		n++
	}
	if n == 0 || n > 1 && s.rest[0] == '0' {
		s.strange = true
	}
	s.rest = s.rest[n:]
}

// value takes any JSON that ends where the literal begins.
func (s *scan) value(before string) {
	if s.has("null") {
		return
	}
	n := bytes.Index(s.rest, []byte(before))
	if n < 0 || !json.Valid(s.rest[:n]) {
		s.strange = true
		return
	}
	s.rest = s.rest[n:]
}
