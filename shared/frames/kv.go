package frames

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// ToServerKvRequest is a question of a running attempt to its store of keys, which its later attempts
// have too.
type ToServerKvRequest struct {
	RequestID uint64 // the runner's choice; of no other request that is not answered yet
	Token     string
	Inner     KvRequest
}

// KvRequest is what is asked: a closed set.
type KvRequest interface {
	wire.Message
	request() int
	// Check says whether the request is within the limits; the error is the answer to it.
	Check() *KvError
}

var kvRequests = set[KvRequest]{
	{1, "KvGet", func() KvRequest { return &KvGet{} }},
	{2, "KvList", func() KvRequest { return &KvList{} }},
	{3, "KvPut", func() KvRequest { return &KvPut{} }},
	{4, "KvDelete", func() KvRequest { return &KvDelete{} }},
}

// KvGet asks for the values of keys; those that have none are left out of the answer.
type KvGet struct{ Keys []string }

// KvList asks for keys in order, with their values.
type KvList struct {
	Prefix  string // of the keys; empty: all
	Reverse bool   // the last come first
	Limit   uint32 // entries, at most MaxKvKeys; 0: so many
}

// KvPut gives values to keys, all or none.
type KvPut struct{ Entries []KvEntry }

// KvDelete takes keys and their values away, all or none.
type KvDelete struct{ Keys []string }

// KvEntry is a key and its value.
type KvEntry struct {
	Key   string
	Value json.RawMessage
}

// ToClientKvResponse answers a ToServerKvRequest.
type ToClientKvResponse struct {
	RequestID uint64
	Entries   []KvEntry // of get, in the order of its keys, and of list
	Error     *KvError  // nil: it is done
}

// KvError is why a request was not done.
type KvError struct {
	Code    string
	Message string // for people
}

// Codes of KvError.
const (
	KvTooManyKeys    = "too_many_keys"
	KvKeyLength      = "key_length" // a key is empty or too long
	KvValueTooLarge  = "value_too_large"
	KvInvalidValue   = "invalid_value"
	KvUnknownAttempt = "unknown_attempt" // the runner does not run it, or it has ended
	KvFull           = "store_full"      // the keys of the attempt take too much
	KvUnavailable    = "unavailable"     // the owner of the keys does not answer; whether it is done is unknown
)

// Error implements error.
func (e *KvError) Error() string { return e.Code + ": " + e.Message }

func (*KvGet) request() int    { return 1 }
func (*KvList) request() int   { return 2 }
func (*KvPut) request() int    { return 3 }
func (*KvDelete) request() int { return 4 }

// Check implements KvRequest.
func (r *KvGet) Check() *KvError { return checkKeys(r.Keys) }

// Check implements KvRequest.
func (r *KvDelete) Check() *KvError { return checkKeys(r.Keys) }

// Check implements KvRequest.
func (r *KvList) Check() *KvError {
	if len(r.Prefix) > MaxKvKey {
		return checkKeys([]string{r.Prefix})
	}
	if r.Limit > MaxKvKeys {
		return &KvError{KvTooManyKeys, fmt.Sprintf("the limit of a list is %d keys, at most are allowed %d", r.Limit, MaxKvKeys)}
	}
	return nil
}

// Check implements KvRequest.
func (r *KvPut) Check() *KvError {
	keys := make([]string, 0, min(len(r.Entries), MaxKvKeys+1))
	for _, e := range r.Entries[:min(len(r.Entries), MaxKvKeys+1)] {
		keys = append(keys, e.Key)
		if len(e.Value) > MaxKvValue {
			return &KvError{KvValueTooLarge, fmt.Sprintf("a value has %d bytes, at most are allowed %d", len(e.Value), MaxKvValue)}
		}
		if len(e.Value) == 0 || !json.Valid(e.Value) {
			return &KvError{KvInvalidValue, "a value is no JSON"}
		}
	}
	return checkKeys(keys)
}

func checkKeys(keys []string) *KvError {
	if len(keys) > MaxKvKeys {
		return &KvError{KvTooManyKeys, fmt.Sprintf("a request names at most %d keys", MaxKvKeys)}
	}
	for _, k := range keys {
		if err := bounded("a key", k, MaxKvKey); err != nil {
			return &KvError{KvKeyLength, err.Error()}
		}
	}
	return nil
}

// KvInner carries what is asked.
type KvInner struct{ Request KvRequest }

// Fields implements wire.Message.
func (r *KvInner) Fields(c *wire.Codec) { kvRequests.fields(c, &r.Request, KvRequest.request) }

// Fields implements wire.Message.
func (f *ToServerKvRequest) Fields(c *wire.Codec) {
	wire.Index(c, 1, "requestId", &f.RequestID)
	wire.String(c, 2, "token", &f.Token)
	inner := KvInner{f.Inner}
	wire.Nested(c, 3, "inner", &inner)
	f.Inner = inner.Request
}

// Fields implements wire.Message.
func (r *KvGet) Fields(c *wire.Codec) { c.Strings(1, "keys", &r.Keys) }

// Fields implements wire.Message.
func (r *KvList) Fields(c *wire.Codec) {
	wire.String(c, 1, "prefix", &r.Prefix)
	c.Bool(2, "reverse", &r.Reverse)
	wire.Int(c, 3, "limit", &r.Limit)
}

// Fields implements wire.Message.
func (r *KvPut) Fields(c *wire.Codec) { wire.Repeated(c, 1, "entries", &r.Entries) }

// Fields implements wire.Message.
func (r *KvDelete) Fields(c *wire.Codec) { c.Strings(1, "keys", &r.Keys) }

// Fields implements wire.Message.
func (e *KvEntry) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &e.Key)
	c.JSON(2, "value", &e.Value)
}

// Fields implements wire.Message.
func (f *ToClientKvResponse) Fields(c *wire.Codec) {
	wire.Index(c, 1, "requestId", &f.RequestID)
	wire.Repeated(c, 2, "entries", &f.Entries)
	wire.Optional(c, 3, "error", &f.Error)
}

// Fields implements wire.Message.
func (e *KvError) Fields(c *wire.Codec) {
	wire.String(c, 1, "code", &e.Code)
	wire.String(c, 2, "message", &e.Message)
}

func (f *ToServerKvRequest) check() error {
	if f.Inner == nil {
		return errors.New("it asks nothing")
	}
	return bounded("token", f.Token, MaxToken)
}

func (f *ToClientKvResponse) check() error {
	for _, e := range f.Entries {
		if err := isJSON("a value", e.Value); err != nil {
			return err
		}
	}
	return nil
}
