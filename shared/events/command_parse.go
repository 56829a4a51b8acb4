package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/heddle-run/heddle/shared/jsonplace"
)

// Header is one header of a Kafka record.
type Header struct {
	Key   string
	Value []byte
}

// Names of the headers that a command may carry.
const (
	HeaderID          = "ce_id"
	HeaderSource      = "ce_source"
	HeaderType        = "ce_type"
	HeaderContentType = "content-type"
	HeaderTrace       = "traceparent"
	HeaderReplyTo     = "heddle-reply-to"
	HeaderReplyID     = "heddle-reply-id" // default: the command's id
	HeaderReplyWait   = "heddle-reply-wait"
	HeaderWritten     = "heddle-written-at" // of a forwarded command: when the broker stamped it first, Unix ms
)

// Values of HeaderReplyWait: what else than the decision is told.
const (
	WaitDrained = "drained" // the end of the work that the command causes
	WaitEnd     = "end"     // that alone: of the decision only what ends the wait
)

const (
	typePrefix = "heddle.command."
	typeSuffix = ".v1"
)

// CommandType is the ce_type of a command.
func CommandType(name string) string { return typePrefix + name + typeSuffix }

const partitionPrefix = "_partition/"

// PartitionWorkflow is the workflow ID of commands to partition p itself.
func PartitionWorkflow(p int32) string { return fmt.Sprintf("%s%d", partitionPrefix, p) }

// PartitionOf is the partition that commands to a workflow ID are for, if they are for a
// partition itself.
func PartitionOf(workflow string) (int32, bool) {
	digits, ok := strings.CutPrefix(workflow, partitionPrefix)
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseUint(digits, 10, 31)
	return int32(p), err == nil && PartitionWorkflow(int32(p)) == workflow
}

// ToPartition reports whether a command may be for a partition itself.
func ToPartition(name string) bool {
	switch name {
	case "accept_loss", "force_release", "mark_stale", "request_replay", "checkpoint", "remove_dispatch":
		return true
	}
	return false
}

// MaxCommandText is the longest id, source, reply address and reply id of a
// command in bytes: they are keys of the ledger and of replies.
const MaxCommandText = 1024

// maxTrace is more than a traceparent has (W3C Trace Context); a longer one is
// dropped, as that standard wants of what it does not know.
const maxTrace = 128

// ParseCommand reads a command record in any of its three forms: CloudEvents
// binary (ce_ headers), CloudEvents structured, or a bare object with the field
// command. place stands in for a missing id. The command's raw fields may alias
// value: code that keeps one copies it. Everything else is copied.
func ParseCommand(key []byte, headers []Header, value []byte, place string) (*Command, *CommandError) {
	cmd := &Command{Workflow: string(key)}
	if err := checkTarget(cmd.Workflow); err != nil {
		return nil, err
	}
	cmd.readHeaders(headers)
	if err := cmd.readWritten(headers); err != nil {
		return nil, err
	}
	if at, path := jsonplace.NotUTF8(value); at >= 0 {
		return nil, &CommandError{"not_json", path, fmt.Sprintf("byte %d is no UTF-8, and JSON is", at)}
	}
	data, bare, err := cmd.open(value)
	if err != nil {
		return nil, err
	}
	if err := cmd.checkTexts(); err != nil {
		return nil, err
	}
	if cmd.ID == "" {
		cmd.Source, cmd.ID = "", place
	}
	if err := cmd.decode(data, bare); err != nil {
		return nil, err
	}
	if _, toRunner := cmd.Body.(*StopRunner); !toRunner && strings.HasPrefix(cmd.Workflow, PoolPrefix) {
		return nil, &CommandError{"invalid_workflow_id", "key", fmt.Sprintf("%s is for workflows, and %q is a pool", cmd.Name, cmd.Workflow)}
	}
	cmd.Digest = digest(cmd.Name, data)
	if cmd.ReplyTo.Address != "" {
		cmd.ReplyTo.Command = cmd.Name
	}
	if cmd.ReplyTo.ID == "" && cmd.ReplyTo.Address != "" {
		cmd.ReplyTo.ID = cmd.ID
	}
	return cmd, nil
}

func checkTarget(workflow string) *CommandError {
	if strings.HasPrefix(workflow, partitionPrefix) {
		if _, ok := PartitionOf(workflow); !ok {
			return &CommandError{"invalid_workflow_id", "key", fmt.Sprintf("%q is not of the form %sNUMBER", workflow, partitionPrefix)}
		}
		return nil
	}
	if _, err := ParsePoolID(workflow); err == nil {
		return nil
	}
	if err := CheckWorkflowID(workflow); err != nil {
		return &CommandError{"invalid_workflow_id", "key", err.Error()}
	}
	return nil
}

// CheckReceiver refuses the key of an inbox record that can be no workflow's or entity's ID:
// those are UTF-8 without zero bytes, and journal records keep nothing else as it is.
func CheckReceiver(id string) *CommandError {
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return &CommandError{"invalid_workflow_id", "key", fmt.Sprintf("%q is not UTF-8 without zero bytes", id)}
	}
	return nil
}

// checkTexts refuses texts around a command that could not be told apart or
// shown: too long, not UTF-8, or with control characters.
func (c *Command) checkTexts() *CommandError {
	if len(c.Trace) > maxTrace || !plainText(c.Trace) {
		c.Trace = ""
	}
	return first(checkText("id", c.ID), checkText("source", c.Source),
		checkText("reply_to", c.ReplyTo.Address), checkText("reply_id", c.ReplyTo.ID))
}

func checkText(path, s string) *CommandError {
	if len(s) > MaxCommandText {
		return &CommandError{"invalid_field", path, fmt.Sprintf("it has %d bytes, the limit is %d", len(s), MaxCommandText)}
	}
	if !plainText(s) {
		return &CommandError{"invalid_field", path, "must be UTF-8 without control characters"}
	}
	return nil
}

func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return plainUnicode(s)
		}
	}
	return true
}

func plainUnicode(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func (c *Command) readHeaders(headers []Header) {
	for _, h := range headers {
		switch v := h.Value; strings.ToLower(h.Key) {
		case HeaderID:
			c.ID = string(v)
		case HeaderSource:
			c.Source = string(v)
		case HeaderType:
			c.Name = typeText(v)
		case HeaderTrace:
			c.Trace = string(v)
		case HeaderReplyTo:
			c.ReplyTo.Address = string(v)
		case HeaderReplyID:
			c.ReplyTo.ID = string(v)
		case HeaderReplyWait:
			end := string(v) == WaitEnd
			c.ReplyTo.Wait, c.ReplyTo.End = end || string(v) == WaitDrained, end
		}
	}
}

// readWritten reads when a forwarded command was written first: the oldest time, as
// an owner that forwards it adds one to what its sender may have said.
func (c *Command) readWritten(headers []Header) *CommandError {
	for _, h := range headers {
		if !strings.EqualFold(h.Key, HeaderWritten) {
			continue
		}
		at, err := strconv.ParseInt(string(h.Value), 10, 64)
		if err != nil || at <= 0 {
			return &CommandError{"invalid_field", HeaderWritten, fmt.Sprintf("%.40q is no time in milliseconds since 1970", h.Value)}
		}
		if c.Written == 0 || at < c.Written {
			c.Written = at
		}
	}
	return nil
}

var startType = CommandType("start")

// typeText is a ce_type as a string; most commands are starts.
func typeText(v []byte) string {
	if string(v) == startType {
		return startType
	}
	return string(v)
}

// outer is what structured and bare commands have around or beside their data.
type outer struct {
	SpecVersion string          `json:"specversion"`
	Type        string          `json:"type"`
	Source      string          `json:"source"`
	ID          string          `json:"id"`
	Data        json.RawMessage `json:"data"`
	Trace       string          `json:"traceparent"`
	Command     string          `json:"command"`
	ReplyTo     string          `json:"reply_to"`
}

// open finds the command's name and data, whatever its form. In a bare command the
// data has the fields of outer beside its own.
func (c *Command) open(value []byte) (data []byte, bare bool, err *CommandError) {
	if c.Name != "" {
		return value, false, c.nameFromType(c.Name)
	}
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '{' {
		return nil, false, &CommandError{"not_json", "", "a command is a JSON object"}
	}
	var o outer
	if err := jsonv2.Unmarshal(value, &o, lenient); err != nil {
		return nil, false, jsonError(err)
	}
	if o.ID != "" {
		c.ID, c.Source = o.ID, o.Source
	}
	if o.Trace != "" {
		c.Trace = o.Trace
	}
	if o.ReplyTo != "" {
		c.ReplyTo.Address = o.ReplyTo
	}
	if o.SpecVersion != "" {
		return o.Data, false, c.nameFromType(o.Type)
	}
	if o.Command == "" {
		return nil, false, missing("command")
	}
	c.Name = o.Command
	return value, true, nil
}

func (c *Command) nameFromType(typ string) *CommandError {
	name, ok1 := strings.CutPrefix(typ, typePrefix)
	name, ok2 := strings.CutSuffix(name, typeSuffix)
	if !ok1 || !ok2 {
		return &CommandError{"unknown_command", "type", fmt.Sprintf("%q is not of the form %sNAME%s", typ, typePrefix, typeSuffix)}
	}
	c.Name = name
	return nil
}

func (c *Command) decode(data []byte, bare bool) *CommandError {
	create, ok := bodies[c.Name]
	if !ok {
		return &CommandError{"unknown_command", "command", fmt.Sprintf("there is no command %q", c.Name)}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	if len(data) > 2*MaxDepth && JSONDepth(data) > MaxDepth { // each level needs two bytes
		return &CommandError{"too_deep", "", fmt.Sprintf("the body is nested more than %d levels deep", MaxDepth)}
	}
	body := create()
	if err := strictly(data, bare, body); err != nil {
		return err
	}
	c.Body = body
	return body.check()
}

// outerFields are those of a bare command that are not of its body.
var outerFields = []string{"command", "id", "source", "reply_to", "traceparent"}

// lenient takes names twice and in any case, as encoding/json does; strict does not take
// fields that it does not know.
var (
	lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsonv2.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true))
	strict  = jsonv2.JoinOptions(lenient, jsonv2.RejectUnknownMembers(true))
)

// strictly decodes a body: a field that is misspelt would be ignored.
func strictly(data []byte, bare bool, body CommandBody) *CommandError {
	if bare {
		var all map[string]json.RawMessage
		if err := jsonv2.Unmarshal(data, &all, lenient); err != nil {
			return jsonError(err)
		}
		maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
			return slices.ContainsFunc(outerFields, func(s string) bool { return strings.EqualFold(s, name) })
		})
		var err error
		if data, err = json.Marshal(all); err != nil {
			return jsonError(err)
		}
	}
	if err := jsonv2.Unmarshal(data, body, strict); err != nil {
		return jsonError(err)
	}
	return nil
}

// MaxDepth is how deep a JSON document from outside may be nested.
const MaxDepth = 100

// JSONDepth is the deepest nesting of a JSON text, which need not be valid.
func JSONDepth(b []byte) int {
	depth, most, text := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch ch := b[i]; {
		case text && ch == '\\':
			i++
		case ch == '"':
			text = !text
		case text:
		case ch == '{' || ch == '[':
			depth++
			most = max(most, depth)
		case ch == '}' || ch == ']':
			depth--
		}
	}
	return most
}

func jsonError(err error) *CommandError {
	wrong, ok := errors.AsType[*jsonv2.SemanticError](err)
	if !ok {
		return &CommandError{"not_json", "", err.Error()}
	}
	path := strings.ReplaceAll(strings.TrimPrefix(string(wrong.JSONPointer), "/"), "/", ".")
	if errors.Is(err, jsonv2.ErrUnknownName) {
		return &CommandError{"unknown_field", path, "there is no such field"}
	}
	what := wrong.JSONKind.String()
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what = typ.Value
	}
	return &CommandError{"invalid_field", path, fmt.Sprintf("a JSON %s does not fit here", what)}
}

func digest(name string, data []byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(data)
	return h.Sum64()
}
