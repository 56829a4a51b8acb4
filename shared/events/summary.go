package events

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/heddle-run/heddle/shared/wire"
)

// Summary is a workflow in short: the JSON value of a record on the status topic, the
// body of replies, and what lists show. A partition keeps it by Fields.
type Summary struct {
	ID         string          `json:"id"` // not kept: its keeper knows whose it is
	Run        RunID           `json:"run"`
	Status     string          `json:"status"` // one of Statuses
	Definition DefinitionRef   `json:"definition"`
	Labels     json.RawMessage `json:"labels,omitempty"`
	Partition  int32           `json:"partition"`
	Created    Stamp           `json:"created_at"`
	Updated    Stamp           `json:"updated_at"`
	Counts     Counts          `json:"counts"`
	Failure    *Failure        `json:"failure"`

	ConditionErrors *ConditionErrors `json:"condition_errors,omitempty"` // not there while there is none
	Refusals        *Refusals        `json:"refusals,omitempty"`         // likewise
	Signals         *KeptSignals     `json:"signals,omitempty"`          // that nobody has taken; likewise

	Notice *NoticeTrouble `json:"notice,omitempty"` // on_complete: the receiver does not take it; likewise

	InHand bool `json:"in_hand,omitempty"` // of an answer to a query: it has failed, and not all is done yet that it was told to do: it has not drained

	Position Position `json:"position"` // of the record it is as of
}

// Fields implements wire.Message.
func (s *Summary) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "run", &s.Run)
	wire.String(c, 2, "status", &s.Status)
	wire.Nested(c, 3, "definition", &s.Definition)
	c.JSON(4, "labels", &s.Labels)
	wire.Int(c, 5, "partition", &s.Partition)
	wire.Int(c, 6, "created", &s.Created)
	wire.Int(c, 7, "updated", &s.Updated)
	wire.Nested(c, 8, "counts", &s.Counts)
	wire.Optional(c, 9, "failure", &s.Failure)
	wire.Nested(c, 10, "position", &s.Position)
	wire.Optional(c, 11, "condition_errors", &s.ConditionErrors)
	wire.Optional(c, 12, "refusals", &s.Refusals)
	wire.Optional(c, 13, "signals", &s.Signals)
	wire.Optional(c, 21, "notice", &s.Notice)
	c.Bool(22, "in_hand", &s.InHand)
}

// Fields implements wire.Message. A digest takes half its length.
func (d *DefinitionRef) Fields(c *wire.Codec) {
	wire.String(c, 1, "name", &d.Name)
	wire.String(c, 2, "version", &d.Version)
	text, sum := d.Digest, []byte(nil)
	if raw, ok := digestBytes(text); ok {
		text, sum = "", raw
	}
	wire.String(c, 3, "digest", &text)
	c.Bytes(4, "sha256", &sum)
	if c.Decoding() {
		if d.Digest = text; len(sum) > 0 {
			d.Digest = digestPrefix + hex.EncodeToString(sum)
		}
	}
}

const digestPrefix = "sha256:"

// digestBytes are the bytes of a digest as definitions print it.
func digestBytes(digest string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(digest, digestPrefix)
	if !ok || digits == "" || strings.ContainsAny(digits, "ABCDEF") {
		return nil, false
	}
	b, err := hex.DecodeString(digits)
	return b, err == nil
}

// Fields implements wire.Message.
func (n *Counts) Fields(c *wire.Codec) {
	wire.Int(c, 1, "ready", &n.Ready)
	wire.Int(c, 2, "waiting", &n.Waiting)
	wire.Int(c, 3, "active", &n.Active)
	wire.Int(c, 4, "completed", &n.Completed)
	wire.Int(c, 5, "failed", &n.Failed)
	wire.Int(c, 6, "skipped", &n.Skipped)
	wire.Int(c, 7, "suppressed", &n.Suppressed)
	wire.Int(c, 8, "cancelled", &n.Cancelled)
	wire.Int(c, 9, "uncertain", &n.Uncertain)
}

// Fields implements wire.Message.
func (f *Failure) Fields(c *wire.Codec) {
	wire.String(c, 1, "component", &f.Component)
	wire.String(c, 2, "runnable", &f.Runnable)
	wire.Nested(c, 3, "error", &f.Error)
}

// Fields implements wire.Message.
func (e *ConditionErrors) Fields(c *wire.Codec) {
	wire.Int(c, 1, "count", &e.Count)
	wire.Repeated(c, 2, "first", &e.First)
}

// Fields implements wire.Message.
func (r *Refusals) Fields(c *wire.Codec) {
	wire.Int(c, 1, "count", &r.Count)
	wire.Nested(c, 2, "last", &r.Last)
}

// Fields implements wire.Message.
func (r *LastRefusal) Fields(c *wire.Codec) {
	wire.String(c, 1, "time", &r.Time)
	wire.String(c, 2, "command", &r.Command)
	wire.String(c, 3, "code", &r.Code)
	wire.String(c, 4, "message", &r.Message)
}

// Fields implements wire.Message.
func (k *KeptSignals) Fields(c *wire.Codec) {
	wire.Int(c, 1, "count", &k.Count)
	wire.Repeated(c, 2, "first", &k.First)
}

// Fields implements wire.Message.
func (k *KeptSignal) Fields(c *wire.Codec) {
	wire.String(c, 1, "name", &k.Name)
	wire.String(c, 2, "key", &k.Key)
	wire.String(c, 3, "received_at", &k.ReceivedAt)
	wire.String(c, 4, "expires_at", &k.ExpiresAt)
}

// Fields implements wire.Message.
func (r *Refusal) Fields(c *wire.Codec) {
	wire.String(c, 1, "code", &r.Code)
	wire.String(c, 2, "message", &r.Message)
	wire.String(c, 3, "path", &r.Path)
}
