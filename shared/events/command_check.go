package events

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-run/heddle/shared/delivery"
)

// CommandError is why a command cannot be understood: typed, with the place.
type CommandError struct {
	Code    string // not_json, unknown_command, missing_field, invalid_field, invalid_workflow_id, …
	Path    string
	Message string
}

func (e *CommandError) Error() string {
	if e.Path == "" {
		return e.Code + ": " + e.Message
	}
	return e.Code + " at " + e.Path + ": " + e.Message
}

func missing(path string) *CommandError {
	return &CommandError{"missing_field", path, "the field is required"}
}

// given reports whether a raw field stands in the document with a value.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func wantObject(path string, raw json.RawMessage) *CommandError {
	if given(raw) && raw[0] != '{' {
		return &CommandError{"invalid_field", path, "must be an object"}
	}
	return nil
}

func wantList(path string, raw json.RawMessage) *CommandError {
	if given(raw) && raw[0] != '[' {
		return &CommandError{"invalid_field", path, "must be a list"}
	}
	return nil
}

func first(errs ...*CommandError) *CommandError {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

func (b *StartWorkflow) check() *CommandError {
	return first(checkDefinition(b.Definition), wantList("policies", b.Policies), wantObject("options", b.Options),
		wantObject("context", b.Context), wantObject("component_context", b.Own))
}

func checkDefinition(raw json.RawMessage) *CommandError {
	if !given(raw) {
		return missing("definition")
	}
	if raw[0] != '"' && raw[0] != '{' {
		return &CommandError{"invalid_field", "definition", "must be a name, name@version, a digest or an inline definition"}
	}
	return nil
}

func (b *MigrateWorkflow) check() *CommandError { return checkDefinition(b.Definition) }

func (b *FeedInput) check() *CommandError {
	if len(b.Input) == 0 {
		return missing("input")
	}
	if b.Mode != "" && b.Mode != "merge" && b.Mode != "replace" {
		return &CommandError{"invalid_field", "mode", "must be merge or replace"}
	}
	return first(wantList("policies", b.Policies), wantObject("context", b.Context))
}

func (b *SignalWorkflow) check() *CommandError {
	if b.Name == "" {
		return missing("name")
	}
	return first(checkText("name", b.Name), checkText("key", b.Key))
}

func (*PauseWorkflow) check() *CommandError { return nil }

func (b *ResumeWorkflow) check() *CommandError {
	return first(wantList("policies", b.Policies), wantObject("context", b.Context))
}

func (b *StopWorkflow) check() *CommandError {
	if b.Drain < 0 || b.Drain > Duration(24*time.Hour) {
		return &CommandError{"invalid_field", "drain", "must be between 0 and 24h"}
	}
	return nil
}

func (*CancelWorkflow) check() *CommandError { return nil }

func (b *RetryRunnables) check() *CommandError {
	for i, r := range b.Runnables {
		if _, err := ParseRunnableID(r); err != nil {
			return &CommandError{"invalid_field", fmt.Sprintf("runnables[%d]", i), err.Error()}
		}
	}
	if b.Runnable != "" {
		if _, err := ParseRunnableID(b.Runnable); err != nil {
			return &CommandError{"invalid_field", "runnable", err.Error()}
		}
		b.Runnables = append(b.Runnables, b.Runnable)
		b.Runnable = ""
	}
	if len(b.Input) > 0 && b.Component == "" && len(b.Runnables) != 1 {
		return &CommandError{"invalid_field", "input", "an edited input needs one runnable or a component"}
	}
	return nil
}

func (b *SkipRunnable) check() *CommandError {
	if b.Runnable == "" {
		return missing("runnable")
	}
	if _, err := ParseRunnableID(b.Runnable); err != nil {
		return &CommandError{"invalid_field", "runnable", err.Error()}
	}
	return nil
}

func (b *SetPolicies) check() *CommandError {
	if !given(b.Policies) {
		return missing("policies")
	}
	return wantList("policies", b.Policies)
}

func (*CheckpointWorkflow) check() *CommandError { return nil }
func (*DeleteWorkflow) check() *CommandError     { return nil }

func (b *CompleteAttempt) check() *CommandError {
	err := checkToken(b.Token)
	if err == nil && len(b.Result) == 0 {
		return missing("result") // null is one; none is rather a body that got lost
	}
	return err
}

func (b *FailAttempt) check() *CommandError {
	if b.Error.Type == "" && b.Error.Message == "" {
		return missing("error")
	}
	return checkToken(b.Token)
}

func (b *HeartbeatAttempt) check() *CommandError { return checkToken(b.Token) }

// What the attempts of one runnable may keep, and one command may change.
const (
	MaxKept      = 128       // keys of a runnable, and of one command, those that it deletes and those that it puts each
	MaxKeptKey   = 2048      // bytes of a key
	MaxKeptValue = 131_072   // bytes of a value
	MaxKeptBytes = 512 << 10 // of the keys and values of a runnable together
)

func (b *KeepKeys) check() *CommandError {
	if len(b.Delete)+len(b.Put) == 0 {
		return missing("put")
	}
	if len(b.Delete) > MaxKept || len(b.Put) > MaxKept {
		return &CommandError{"invalid_field", "", fmt.Sprintf("puts %d keys and deletes %d, the limit of each is %d", len(b.Put), len(b.Delete), MaxKept)}
	}
	for i, k := range b.Delete {
		if err := checkKeptKey(fmt.Sprintf("delete[%d]", i), k); err != nil {
			return err
		}
	}
	for i := range b.Put {
		if err := b.Put[i].fits(fmt.Sprintf("put[%d]", i)); err != nil {
			return err
		}
	}
	return checkToken(b.Token)
}

func (c *KeptCandidate) fits(path string) *CommandError {
	switch {
	case len(c.Value) == 0:
		return missing(path + ".value") // null is one
	case len(c.Value) > MaxKeptValue:
		return &CommandError{"invalid_field", path + ".value", fmt.Sprintf("it has %d bytes, the limit is %d", len(c.Value), MaxKeptValue)}
	}
	return checkKeptKey(path+".key", c.Key)
}

func checkKeptKey(path, k string) *CommandError {
	if k == "" || len(k) > MaxKeptKey {
		return &CommandError{"invalid_field", path, fmt.Sprintf("a key has 1 to %d bytes, not %d", MaxKeptKey, len(k))}
	}
	return nil
}

func (b *StopRunner) check() *CommandError {
	if b.Runner == "" {
		return missing("runner")
	}
	return nil
}

func checkToken(s string) *CommandError {
	if s == "" {
		return missing("token")
	}
	if _, err := ParseTokenText(s); err != nil {
		return &CommandError{"invalid_field", "token", "is not a task token"}
	}
	return nil
}

func (b *ReleasePartition) check() *CommandError   { return b.CheckGiven() }
func (b *MarkPartitionStale) check() *CommandError { return b.CheckGiven() }
func (b *ReplayPartition) check() *CommandError    { return b.CheckGiven() }

// CheckGiven refuses an operator's word to a partition that does not say who gives it, and why, or says it at
// length: a reason is part of the lease, which is published, and of the readiness of all partitions, which is one record.
func (b *By) CheckGiven() *CommandError {
	switch {
	case b.Who == "":
		return &CommandError{"missing_field", "by", "say who asks for this; the journal keeps it"}
	case b.Why == "":
		return &CommandError{"missing_field", "why", "say why; the journal keeps it"}
	}
	return first(checkText("by", b.Who), checkText("why", b.Why))
}

// CheckGiven is that of By, and for the reason, which the lease shows.
func (b *MarkPartitionStale) CheckGiven() *CommandError {
	return first(b.By.CheckGiven(), checkText("reason", b.Reason))
}

func (b *RemoveDispatch) check() *CommandError { return b.CheckGiven() }

// CheckGiven is that of By, and for the request ids.
func (b *RemoveDispatch) CheckGiven() *CommandError {
	if len(b.IDs) == 0 {
		return missing("ids")
	}
	if len(b.IDs) > MaxRemoved {
		return &CommandError{"invalid_field", "ids", fmt.Sprintf("names %d records, the limit is %d", len(b.IDs), MaxRemoved)}
	}
	seen := make(map[string]bool, len(b.IDs))
	for i, id := range b.IDs {
		path := fmt.Sprintf("ids[%d]", i)
		if _, err := ParseRequestID(id); err != nil {
			return &CommandError{"invalid_request_id", path, err.Error()}
		}
		if seen[id] {
			return &CommandError{"duplicate_request_id", path, (&delivery.DuplicateRequestID{ID: id}).Error()}
		}
		seen[id] = true
	}
	return b.By.CheckGiven()
}

// MaxRemoved is how many dispatch records one command removes at most.
const MaxRemoved = 1000

// ParseRequestID reads the id of a dispatch record: the text of a token, whose seal is not checked. The error is
// a *delivery.InvalidRequestID.
func ParseRequestID(id string) (Token, error) {
	sealed, err := ParseTokenText(id)
	if err == nil {
		var t Token
		if t, err = PeekToken(sealed); err == nil {
			return t, nil
		}
	}
	return Token{}, &delivery.InvalidRequestID{ID: id}
}

func (b *AcceptLoss) check() *CommandError {
	switch {
	case !slices.Contains(LossLogs(), b.Log):
		return &CommandError{"invalid_field", "log", "must be one of " + strings.Join(LossLogs(), ", ")}
	case b.From < 0 || b.To <= b.From:
		return &CommandError{"invalid_field", "to", "from and to are offsets: from that of the first record that is gone, to behind the last one"}
	}
	return b.CheckGiven()
}

// Duration is a time span in JSON: a Go duration text or integer milliseconds.
type Duration time.Duration

// MaxMilliseconds is the longest time span in ms that a time.Duration can say.
const MaxMilliseconds = int64(math.MaxInt64 / time.Millisecond)

// UnmarshalJSON implements json.Unmarshaler; null leaves d as it is.
func (d *Duration) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	text := strings.Trim(string(b), `"`)
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && -MaxMilliseconds <= ms && ms <= MaxMilliseconds {
		*d = Duration(time.Duration(ms) * time.Millisecond)
		return nil
	}
	v, err := time.ParseDuration(text)
	if err != nil { // this type of error gets the field's name from the decoder
		return &json.UnmarshalTypeError{Value: "value that is neither a duration as 30s nor milliseconds", Type: reflect.TypeFor[Duration]()}
	}
	*d = Duration(v)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}
