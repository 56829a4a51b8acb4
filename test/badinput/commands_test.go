package badinput

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// Without a name that is known, without a field that it needs, or without JSON a command is an error. So it is with a
// field too many: PS13 accepts that, but who misspells one must be told, as over HTTP.
func TestPS13CommandsThatCannotBeReadAreAnsweredAndKept(t *testing.T) {
	r := start(t)
	typed := func(name string) []kgo.RecordHeader {
		return []kgo.RecordHeader{kafka.Header(events.HeaderType, []byte(events.CommandType(name)))}
	}
	for name, c := range map[string]struct {
		key     string
		headers []kgo.RecordHeader
		value   string
		code    string
		path    string
	}{
		"no bytes":               {"w", nil, "", "not_json", ""},
		"bytes that are no text": {"w", nil, "\xff\x00\xfe", "not_json", ""},
		"no object":              {"w", nil, `[1,2]`, "not_json", ""},
		"half a document":        {"w", nil, `{"command":"start"`, "not_json", ""},
		"half a body":            {"w", typed("start"), `{"definition":`, "not_json", ""},
		"no name":                {"w", nil, `{"definition":"d"}`, "missing_field", "command"},
		"unknown name":           {"w", nil, `{"command":"explode"}`, "unknown_command", "command"},
		"unknown type":           {"w", []kgo.RecordHeader{kafka.Header(events.HeaderType, []byte("com.example.other"))}, `{}`, "unknown_command", "type"},
		"unknown version":        {"w", []kgo.RecordHeader{kafka.Header(events.HeaderType, []byte("heddle.command.start.v9"))}, `{}`, "unknown_command", "type"},
		"no definition":          {"w", typed("start"), `{}`, "missing_field", "definition"},
		"definition of a kind":   {"w", typed("start"), `{"definition":7}`, "invalid_field", "definition"},
		"field too many":         {"w", typed("pause"), `{"colour":"red"}`, "unknown_field", "colour"},
		"field of a kind":        {"w", typed("stop"), `{"drain":[]}`, "invalid_field", "drain"},
		"no such mode":           {"w", typed("input"), `{"input":1,"mode":"maybe"}`, "invalid_field", "mode"},
		"no such runnable":       {"w", typed("skip"), `{"runnable":"seven"}`, "invalid_field", "runnable"},
		"no token":               {"w", typed("complete"), `{"result":1}`, "missing_field", "token"},
		"no real token":          {"w", typed("complete"), `{"token":"abc"}`, "invalid_field", "token"},
		"too deep":               {"w", typed("input"), `{"input":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "too_deep", ""},
		"id without end":         {"w", append(typed("pause"), kafka.Header(events.HeaderID, []byte(strings.Repeat("i", 5000)))), `{}`, "invalid_field", "id"},
		"id with controls":       {"w", append(typed("pause"), kafka.Header(events.HeaderID, []byte("a\nb"))), `{}`, "invalid_field", "id"},
		"no key":                 {"", typed("pause"), `{}`, "invalid_workflow_id", "key"},
		"key with spaces":        {"a b", typed("pause"), `{}`, "invalid_workflow_id", "key"},
		"key without end":        {strings.Repeat("k", 300), typed("pause"), `{}`, "invalid_workflow_id", "key"},
		"key of the system":      {"_secret", typed("pause"), `{}`, "invalid_workflow_id", "key"},
		"no such partition":      {"_partition/x", typed("force_release"), `{}`, "invalid_workflow_id", "key"},
	} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			headers := append(asking(name), c.headers...)
			k := r.produce(kafka.Keyed(r.names.Commands(), []byte(c.key), []byte(c.value), headers...))
			r.refused(r.replyTo(name), c.code, c.path)
			if l := r.letterOf(k); !strings.HasPrefix(l.Reason, c.code+": ") || l.Path != c.path {
				t.Errorf("the dead letter says %q at %q, want %s at %q", l.Reason, l.Path, c.code, c.path)
			}
		})
	}
	r.goesOn()
}
