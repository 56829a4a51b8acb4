package events_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// What decodes has one canonical form, which decodes to the same.
func settled[M any, P wire.Pointer[M]](t *testing.T, b []byte) {
	t.Helper()
	var m, back M
	if wire.Unmarshal(b, P(&m)) != nil {
		return
	}
	canonical := wire.Marshal(P(&m))
	if err := wire.Unmarshal(canonical, P(&back)); err != nil {
		t.Fatalf("%T: own bytes %x: %v", m, canonical, err)
	}
	if again := wire.Marshal(P(&back)); string(again) != string(canonical) {
		t.Fatalf("%T: %x encodes again as %x", m, canonical, again)
	}
	wire.ToJSON(P(&back))
}

func FuzzDecodeRecord(f *testing.F) {
	for _, n := range events.Numbers() {
		e, _ := events.New(n)
		f.Add(events.EncodeRecord(&events.Record{Workflow: "w", Events: []events.Event{filled(&fixed{}, e)}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := events.DecodeRecord(b); err == nil {
			settled[events.Record](t, b)
		}
	})
}

func FuzzDecodeInbox(f *testing.F) {
	f.Add(events.EncodeInbox(filled(&fixed{}, &events.TaskOutcome{})))
	f.Add(events.EncodeInbox(filled(&fixed{}, &events.TaskNotified{})))
	f.Add(events.EncodeInbox(filled(&fixed{}, &events.TaskHeartbeat{})))
	f.Add(events.EncodeInbox(filled(&fixed{}, &events.RunnerReport{})))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := events.DecodeInbox(b); err == nil {
			m.AttemptToken()
			settled[events.Inbox](t, b)
		}
	})
}

func FuzzDecodeTask(f *testing.F) {
	f.Add(wire.Marshal(filled(&fixed{}, &events.Task{})))
	f.Add(wire.Marshal(filled(&fixed{}, &events.TaskCancel{})))
	f.Add(wire.Marshal(filled(&fixed{}, &events.Query{})))
	f.Fuzz(func(t *testing.T, b []byte) {
		settled[events.Task](t, b)
		settled[events.TaskCancel](t, b)
		settled[events.Query](t, b)
	})
}

func FuzzDecodeTunnelRecord(f *testing.F) {
	f.Add(wire.Marshal(filled(&fixed{}, &events.TunnelRecord{})), "address.id")
	f.Fuzz(func(t *testing.T, b []byte, id string) {
		if _, err := events.DecodeTunnelRecord(b); err == nil {
			settled[events.TunnelRecord](t, b)
		}
		if address, ok := events.TunnelAddress(id); ok && !strings.HasPrefix(id, address+".") {
			t.Errorf("the address of %q is %q", id, address)
		}
	})
}

func FuzzOpenToken(f *testing.F) {
	f.Add(key.Seal(events.Token{Workflow: "w", Attempt: 1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tok, err := events.PeekToken(b)
		if err != nil {
			return
		}
		if opened, err := key.Open(b); err == nil && opened != tok {
			t.Fatalf("opens to %+v, peeks as %+v", opened, tok)
		}
	})
}

// A command says the same in each of its three forms, or is refused in each.
func FuzzParseCommand(f *testing.F) {
	f.Add("w", "", `{"command":"start","definition":"x","input":1}`)
	f.Add("w", "heddle.command.input.v1", `{"input":{"a":[1]}}`)
	f.Add("w", "", `{"specversion":"1.0","type":"heddle.command.retry.v1","id":"1","source":"s","data":{"runnable":"r1"}}`)
	f.Fuzz(func(t *testing.T, workflow, typ, value string) {
		var headers []events.Header
		if typ != "" {
			headers = []events.Header{{Key: events.HeaderType, Value: []byte(typ)}}
		}
		var cmd *events.Command
		var err *events.CommandError
		wiretest.Bounded(t, len(workflow)+len(typ)+len(value), 64, 0, func() {
			cmd, err = events.ParseCommand([]byte(workflow), headers, []byte(value), place)
		})
		switch {
		case err != nil && (err.Code == "" || err.Message == ""):
			t.Fatalf("an error without code or message: %+v", err)
		case err == nil && (cmd.Body == nil || cmd.Name == "" || cmd.ID == "" || cmd.Workflow != workflow):
			t.Fatalf("half a command: %+v", cmd)
		case typ != "" && json.Valid([]byte(value)) && utf8.ValidString(typ):
			for _, other := range otherForms(t, typ, value) {
				same, wrong := events.ParseCommand([]byte(workflow), nil, []byte(other), place)
				if (wrong == nil) != (err == nil) || err == nil && (same.Name != cmd.Name || same.ID != cmd.ID || !reflect.DeepEqual(same.Body, cmd.Body)) {
					t.Fatalf("in headers %+v, %v; as %s %+v, %v", cmd, err, other, same, wrong)
				}
			}
		}
	})
}

// otherForms are the structured form of a command that has its type in a header,
// and the plain one, if its body has no field that means something else there.
func otherForms(t *testing.T, typ, value string) []string {
	t.Helper()
	all := []string{`{"specversion":"1.0","type":` + quoted(t, typ) + `,"data":` + value + `}`}
	name, ok := strings.CutPrefix(typ, "heddle.command.")
	name, versioned := strings.CutSuffix(name, ".v1")
	var body map[string]json.RawMessage
	if json.Unmarshal([]byte(value), &body) != nil || body == nil || !ok || !versioned {
		return all
	}
	for field := range body {
		for _, around := range []string{"specversion", "type", "source", "id", "data", "traceparent", "command", "reply_to"} {
			if strings.EqualFold(field, around) {
				return all
			}
		}
	}
	rest, comma := strings.TrimPrefix(strings.TrimSpace(value), "{"), ","
	if len(body) == 0 {
		comma = ""
	}
	return append(all, `{"command":`+quoted(t, name)+comma+rest)
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What is read as a traceparent is written as one that is read as the same, whatever a later version of the
// standard appends to it.
// FuzzDecodeRunnerCommands: what is read is written again as it was.
func FuzzDecodeRunnerCommands(f *testing.F) {
	f.Add(wire.Marshal(&events.RunnerCommands{
		To: events.Connection{Executor: "x", Number: 1}, Pool: "pool:images", Runner: "r", Welcome: &events.RunnerWelcome{Session: 1, Events: 2, Threshold: 3},
		Commands: []events.RunnerCommand{{Index: 1, Token: []byte("t"), Start: []byte("task")}}, Close: "ws.eviction",
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := events.DecodeRunnerCommands(b); err == nil {
			settled[events.RunnerCommands](t, b)
		}
	})
}

// FuzzParsePoolID: a pool has one id.
func FuzzParsePoolID(f *testing.F) {
	f.Add("pool:images")
	f.Fuzz(func(t *testing.T, id string) {
		if name, err := events.ParsePoolID(id); err == nil && events.PoolOf(name) != id {
			t.Errorf("%q is the pool %q", id, name)
		}
	})
}

// FuzzParseRunnerCursor: a place in a list of runners is written in one way.
func FuzzParseRunnerCursor(f *testing.F) {
	f.Add("pool:images/17")
	f.Fuzz(func(t *testing.T, cursor string) {
		if pool, session, err := events.ParseRunnerCursor(cursor); err == nil && events.RunnerCursor(pool, session) != cursor {
			t.Errorf("%q is behind session %d of %s", cursor, session, pool)
		}
	})
}

func FuzzParseTrace(f *testing.F) {
	f.Add(someTrace)
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := events.ParseTrace(text)
		if !ok {
			return
		}
		if back, ok := events.ParseTrace(c.String()); !ok || back != c {
			t.Fatalf("%q is written as %q, which is read as %+v", text, c, back)
		}
		if c.Trace == [16]byte{} || c.Parent == (events.SpanID{}) {
			t.Fatalf("%q names nothing", text)
		}
	})
}
