package events

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/shared/wire"
)

// KeyPrefix begins the ids of entities that grant permits: key:KIND/NAME.
const KeyPrefix = "key:"

// MaxKeyName bounds the name of a key, in bytes.
const MaxKeyName = 200

// The kinds of keys.
const (
	ConcurrencyKey = "concurrency" // bounds how many attempts are open at a time
	RateKey        = "rate"        // bounds how many attempts begin in a time
	BreakerKey     = "breaker"     // lets no attempt begin for a time once too many have failed
)

// KeyKinds are the kinds of keys, in the order in which an attempt asks for their permits: what is spent or
// used up by the mere grant is asked for last.
var KeyKinds = []string{ConcurrencyKey, BreakerKey, RateKey}

// KeyOf is the id of the entity that grants the permits of a key.
func KeyOf(kind, name string) string { return KeyPrefix + kind + "/" + name }

// CheckKeyName reports what is wrong with the name of a key; nil: nothing.
func CheckKeyName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a key is a text that is not empty")
	case len(name) > MaxKeyName:
		return fmt.Errorf("a key has at most %d bytes, this one has %d", MaxKeyName, len(name))
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the key %q has a control character", name)
	}
	return nil
}

// ParseKeyID is the inverse of KeyOf.
func ParseKeyID(id string) (kind, name string, err error) {
	rest, ok := strings.CutPrefix(id, KeyPrefix)
	kind, name, is := strings.Cut(rest, "/")
	if !ok || !is || !slices.Contains(KeyKinds, kind) || CheckKeyName(name) != nil {
		return "", "", fmt.Errorf("%q is not of the form %s; a KIND is one of %s", id, KeyOf("KIND", "NAME"), strings.Join(KeyKinds, ", "))
	}
	return kind, name, nil
}

// KeyLimit is how much a key grants.
type KeyLimit struct {
	Limit uint64 // permits at a time, or in a time; of a breaker: failures in a row that open it
	Per   uint64 // that time in ms; 0: a permit is held until it is given back; of a breaker: for how long it is open
	Fails bool   // of a breaker: the request is denied where it would have to wait
}

// Fields implements wire.Message.
func (l *KeyLimit) Fields(c *wire.Codec) {
	wire.Int(c, 1, "limit", &l.Limit)
	wire.Int(c, 2, "per", &l.Per)
	c.Bool(3, "fails", &l.Fails)
}

// PermitAsked is a runnable that asks a key for a permit for its next attempt, and waits for that.
type PermitAsked struct {
	Runnable RunnableID
	Key      string // id of the entity
	Rank     uint8  // of the runnable's priority: the lowest goes first
	Limit    KeyLimit
	First    Position // the record that asked first, where this one only asks again; zero: this one does
}

func (*PermitAsked) number() int { return 80 }

// Fields implements wire.Message.
func (e *PermitAsked) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.String(c, 2, "key", &e.Key)
	wire.Int(c, 3, "rank", &e.Rank)
	wire.Nested(c, 4, "limit", &e.Limit)
	wire.Nested(c, 5, "first", &e.First)
}

// PermitsReturned gives permits back that a workflow needs no more, or wants no more.
type PermitsReturned struct {
	Permits []ReturnedPermit
	Again   RunnableID // goes back to the admission queue, since its workflow admits nothing now; 0: none does
}

func (*PermitsReturned) number() int { return 63 }

// Fields implements wire.Message.
func (e *PermitsReturned) Fields(c *wire.Codec) {
	wire.Repeated(c, 1, "permits", &e.Permits)
	wire.Int(c, 2, "again", &e.Again)
}

// ReturnedPermit is a permit that goes back to its key, or a request for one.
type ReturnedPermit struct {
	Key      string // id of the entity
	Runnable RunnableID
	Asked    Position
	Verdict  Verdict // to a breaker
}

// Fields implements wire.Message.
func (p *ReturnedPermit) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &p.Key)
	wire.Int(c, 2, "runnable", &p.Runnable)
	wire.Nested(c, 3, "asked", &p.Asked)
	wire.Int(c, 4, "verdict", &p.Verdict)
}

// Verdict is what the end of an attempt says of what its breaker protects. Values are recorded.
type Verdict uint8

// The verdicts.
const (
	NoVerdict        Verdict = 0 // nothing: it was cancelled, lost or handed back, or no attempt has begun
	VerdictSucceeded Verdict = 1
	VerdictFailed    Verdict = 2 // or timed out
)

// PermitID names a request for a permit of a key, and the permit that it is granted. No two
// requests have the same: a record asks a key at most once for a runnable.
type PermitID struct {
	Workflow string
	Runnable RunnableID
	Asked    Position // the record that asked
}

// Fields implements wire.Message.
func (p *PermitID) Fields(c *wire.Codec) {
	wire.String(c, 1, "workflow", &p.Workflow)
	wire.Int(c, 2, "runnable", &p.Runnable)
	wire.Nested(c, 3, "asked", &p.Asked)
}

// String is the id as one text.
func (p PermitID) String() string {
	return p.Runnable.String() + "@" + p.Asked.String() + "/" + p.Workflow
}

// PermitQueued is a request for a permit that waits for its turn. Its limit counts from now on.
type PermitQueued struct {
	Number uint64 // by arrival
	Rank   uint8  // of its priority: the lowest goes first
	Permit PermitID
	Limit  KeyLimit
}

func (*PermitQueued) number() int { return 82 }

// Fields implements wire.Message.
func (e *PermitQueued) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	wire.Int(c, 2, "rank", &e.Rank)
	wire.Nested(c, 3, "permit", &e.Permit)
	wire.Nested(c, 4, "limit", &e.Limit)
}

// PermitIssued is a permit that is granted to a request. The time of its record is what a rate counts by.
type PermitIssued struct {
	Number uint64
	Permit PermitID
}

func (*PermitIssued) number() int { return 83 }

// Fields implements wire.Message.
func (e *PermitIssued) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	wire.Nested(c, 2, "permit", &e.Permit)
}

// PermitOver is a permit that was given back, or a request that was withdrawn.
type PermitOver struct {
	Number  uint64
	Permit  PermitID
	Verdict Verdict // of a breaker's
}

func (*PermitOver) number() int { return 84 }

// Fields implements wire.Message.
func (e *PermitOver) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &e.Number)
	wire.Nested(c, 2, "permit", &e.Permit)
	wire.Int(c, 3, "verdict", &e.Verdict)
}

// KeySwept is a key that has looked after what it has granted.
type KeySwept struct {
	Asked []PermitID // whose holders are asked whether they hold them still
	After uint64     // the number behind which the sweep goes on; 0: it is whole. Of a rate: up to which it has forgotten its permits
	Gone  bool       // there is nothing to remember: its rows are removed
}

func (*KeySwept) number() int { return 85 }

// Fields implements wire.Message.
func (e *KeySwept) Fields(c *wire.Codec) {
	wire.Repeated(c, 1, "asked", &e.Asked)
	wire.Int(c, 2, "after", &e.After)
	c.Bool(3, "gone", &e.Gone)
}

// PermitDenied is a request that a breaker grants neither now nor later, since it was to fail where it would
// have to wait. Its limit counts from now on.
type PermitDenied struct {
	Permit PermitID
	Limit  KeyLimit
	Until  int64 // Unix ms: as of now the breaker is open until then; 0: it waits for what becomes of an attempt
}

func (*PermitDenied) number() int { return 96 }

// Fields implements wire.Message.
func (e *PermitDenied) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "permit", &e.Permit)
	wire.Nested(c, 2, "limit", &e.Limit)
	wire.Int(c, 3, "until", &e.Until)
}

// BreakerTurned is a breaker whose state changes.
type BreakerTurned struct {
	To       BreakerState
	Failures uint64 // in a row, up to now
	Until    int64  // Unix ms: it is open until then; 0: it is not
}

func (*BreakerTurned) number() int { return 97 }

// Fields implements wire.Message.
func (e *BreakerTurned) Fields(c *wire.Codec) {
	wire.Int(c, 1, "to", &e.To)
	wire.Int(c, 2, "failures", &e.Failures)
	wire.Int(c, 3, "until", &e.Until)
}

// BreakerState is whether a breaker lets attempts begin. Values are recorded.
type BreakerState uint8

// The states of a breaker.
const (
	BreakerClosed   BreakerState = 0 // it lets all
	BreakerOpen     BreakerState = 1 // it lets none
	BreakerHalfOpen BreakerState = 2 // it lets one at a time, whose end says how it goes on
)

// String is the state in words, as reads and metrics have it.
func (s BreakerState) String() string {
	return [...]string{BreakerClosed: "closed", BreakerOpen: "open", BreakerHalfOpen: "half_open"}[min(s, BreakerHalfOpen)]
}

// AttemptDenied is an attempt that a breaker does not let begin: RunnableFailed follows.
type AttemptDenied struct {
	Runnable RunnableID
	Attempt  uint32
	Key      string // id of the entity
	Queue    string // to which it would have been dispatched; empty: to none, as with external ones
}

func (*AttemptDenied) number() int { return 98 }

// Fields implements wire.Message.
func (e *AttemptDenied) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	wire.Int(c, 2, "attempt", &e.Attempt)
	wire.String(c, 3, "key", &e.Key)
	wire.String(c, 4, "queue", &e.Queue)
}

// KeyVerb is what a message between a workflow and a key says. Values are sent.
type KeyVerb uint8

// The verbs.
const (
	KeyAsk     KeyVerb = 1 // to the key: a permit is wanted
	KeyReturn  KeyVerb = 2 // to the key: it is wanted no more, whether it was granted or not
	KeyGrant   KeyVerb = 3 // to the workflow: here it is
	KeyInquire KeyVerb = 4 // to the workflow: it was granted; give it back, unless you hold it or wait for it
	KeyDeny    KeyVerb = 5 // to the workflow: it is not granted, and the key has forgotten the request
)

// KeyMessage is what a workflow and a key tell each other.
type KeyMessage struct {
	Verb     KeyVerb
	Runnable RunnableID
	Asked    Position
	Rank     uint8
	Limit    KeyLimit
	Verdict  Verdict // with KeyReturn, to a breaker
	Until    int64   // with KeyDeny, as PermitDenied has it
}

// Fields implements wire.Message.
func (m *KeyMessage) Fields(c *wire.Codec) {
	wire.Int(c, 1, "verb", &m.Verb)
	wire.Int(c, 2, "runnable", &m.Runnable)
	wire.Nested(c, 3, "asked", &m.Asked)
	wire.Int(c, 4, "rank", &m.Rank)
	wire.Nested(c, 5, "limit", &m.Limit)
	wire.Int(c, 6, "verdict", &m.Verdict)
	wire.Int(c, 7, "until", &m.Until)
}

// KeySummary is how much of a key's limit is used, or the state of a breaker.
type KeySummary struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`               // concurrency, rate or breaker
	Limit    uint64 `json:"limit"`              // of a breaker: failures in a row that open it
	Per      uint64 `json:"per_ms,omitempty"`   // of a rate: the time in which there are so many; of a breaker: for how long it is open
	State    string `json:"state,omitempty"`    // of a breaker: closed, open or half_open
	Failures uint64 `json:"failures,omitempty"` // of a breaker: in a row
	Turned   string `json:"turned,omitempty"`   // of a breaker: when it came to its state, RFC 3339; it began closed
	Held     uint64 `json:"held"`               // of a rate: granted within the last such time
	Queued   uint64 `json:"queued"`
	Next     string `json:"next,omitempty"` // of a rate whose permits are out, or a breaker that is open: when there is another one, RFC 3339
}

// KeyList is what a read of KeyPrefix shows: the keys of one partition, by kind and name.
type KeyList = EntityList[KeySummary]

// KeyState is what a read of a key shows.
type KeyState struct {
	KeySummary
	Holders []KeyPermit `json:"holders"` // the first 100; none of a rate, whose permits nobody gives back
	Queue   []KeyPermit `json:"queue"`   // the first 100, in the order in which they are granted
}

// KeyPermit is a permit of a key, or a request for one.
type KeyPermit struct {
	Workflow string `json:"workflow"`
	Runnable string `json:"runnable"`
	Since    string `json:"since"` // granted or asked for, RFC 3339
}
