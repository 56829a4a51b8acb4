package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// SpanID names a span of a trace. It follows from what the span is about, so that whoever tells of
// it, and however often, tells of the same one.
type SpanID [8]byte

// TraceContext is a traceparent (W3C Trace Context), read.
type TraceContext struct {
	Trace  [16]byte
	Parent SpanID
	Flags  byte
}

// Sampled reports whether who began the trace wants it told.
func (c TraceContext) Sampled() bool { return c.Flags&1 == 1 }

const leastTrace = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")

// ParseTrace reads a traceparent; false: it is none.
func ParseTrace(text string) (c TraceContext, ok bool) {
	if len(text) < leastTrace || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return c, false
	}
	if text[:2] == "ff" || len(text) > leastTrace && (text[:2] == "00" || text[leastTrace] != '-') {
		return c, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		to   []byte
		from string
	}{{version[:], text[:2]}, {c.Trace[:], text[3:35]}, {c.Parent[:], text[36:52]}, {flags[:], text[53:55]}} {
		if !lowerHex(part.from) {
			return c, false
		}
		if _, err := hex.Decode(part.to, []byte(part.from)); err != nil {
			return c, false
		}
	}
	c.Flags = flags[0]
	return c, c.Trace != [16]byte{} && c.Parent != SpanID{}
}

func lowerHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// String is the traceparent.
func (c TraceContext) String() string {
	return fmt.Sprintf("00-%x-%x-%02x", c.Trace, c.Parent, c.Flags)
}

// RunSpan is the span of the start of a run.
func RunSpan(workflow string, run RunID) SpanID {
	return spanOf(fmt.Sprintf("run\x00%s\x00%s", workflow, run))
}

// AttemptSpan is the span of an attempt.
func AttemptSpan(workflow string, run RunID, r RunnableID, attempt uint32) SpanID {
	return spanOf(fmt.Sprintf("attempt\x00%s\x00%s\x00%d\x00%d", workflow, run, r, attempt))
}

// EventSpan is the span that ends with an event of a record.
func EventSpan(workflow string, at Position, e Event) SpanID {
	return spanOf(fmt.Sprintf("event\x00%s\x00%s\x00%d", workflow, at, e.number()))
}

func spanOf(name string) (id SpanID) {
	sum := sha256.Sum256([]byte(name))
	copy(id[:], sum[:])
	if id == (SpanID{}) { // which names none
		id[0] = 1
	}
	return id
}

// AttemptTrace is the traceparent that an attempt's task gets in a run that was started with one:
// the attempt is the parent of what its worker tells. What is no traceparent stays as it is.
func AttemptTrace(started, workflow string, run RunID, r RunnableID, attempt uint32) string {
	c, ok := ParseTrace(started)
	if !ok {
		return started
	}
	c.Parent = AttemptSpan(workflow, run, r, attempt)
	return c.String()
}
