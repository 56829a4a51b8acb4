package frames_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

var (
	rawJSON = reflect.TypeFor[json.RawMessage]()
	blob    = reflect.TypeFor[[]byte]()
	pairs   = reflect.TypeFor[[]wire.Pair]()
)

// members are one empty message of each kind of the sets.
func members() map[reflect.Type][]any {
	return map[reflect.Type][]any{
		reflect.TypeFor[frames.ToServer](): {&frames.ToServerInit{}, &frames.ToServerEvents{}, &frames.ToServerAckCommands{}, &frames.ToServerPing{},
			&frames.ToServerKvRequest{}, &frames.ToServerStopping{}, &frames.ToServerTunnel{}},
		reflect.TypeFor[frames.ToClient](): {&frames.ToClientInit{}, &frames.ToClientCommands{}, &frames.ToClientAckEvents{}, &frames.ToClientPong{},
			&frames.ToClientKvResponse{}, &frames.ToClientClose{}, &frames.ToClientTunnel{}},
		reflect.TypeFor[frames.Report]():    {&frames.TaskState{}, &frames.Heartbeat{}, &frames.TaskIntent{}, &frames.SetAlarm{}},
		reflect.TypeFor[frames.Order]():     {&frames.StartTask{}, &frames.StopTask{}},
		reflect.TypeFor[frames.KvRequest](): {&frames.KvGet{}, &frames.KvList{}, &frames.KvPut{}, &frames.KvDelete{}},
		reflect.TypeFor[frames.TunnelMessage](): {&frames.RequestStart{}, &frames.RequestChunk{}, &frames.RequestEnd{}, &frames.RequestAbort{}, &frames.ResponseStart{}, &frames.ResponseChunk{},
			&frames.ResponseEnd{}, &frames.ResponseAbort{}, &frames.WebSocketOpen{}, &frames.WebSocketMessage{}, &frames.WebSocketClose{}, &frames.TunnelAck{}},
	}
}

// fill sets every field of v; zero values are as likely as others.
func fill(t *rapid.T, v reflect.Value) {
	switch typ := v.Type(); {
	case typ == rawJSON:
		v.SetBytes(rapid.SampledFrom([][]byte{nil, []byte("null"), []byte(`{"a":[1,2.50,"x"],"a":2}`)}).Draw(t, "json"))
	case typ == blob:
		v.SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "blob"))
	case typ == pairs:
		for i := range rapid.IntRange(0, 3).Draw(t, "pairs") {
			v.Set(reflect.Append(v, reflect.ValueOf(wire.Pair{Key: fmt.Sprint(i, rapid.String().Draw(t, "key")), Value: json.RawMessage(`{"v":1}`)})))
		}
	case typ.Kind() == reflect.Interface:
		m := reflect.ValueOf(rapid.SampledFrom(members()[typ]).Draw(t, "member"))
		v.Set(m)
		fill(t, m.Elem())
	case typ.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case typ.Kind() == reflect.Pointer:
		if rapid.Bool().Draw(t, "is") {
			v.Set(reflect.New(typ.Elem()))
			fill(t, v.Elem())
		}
	case typ.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(typ, rapid.IntRange(0, 3).Draw(t, "length"), 3))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case typ.Kind() == reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	case typ.Kind() == reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case v.CanInt():
		v.SetInt(rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(-1, 300), rapid.Int64()).Draw(t, "int"))
	case v.CanUint():
		v.SetUint(rapid.OneOf(rapid.Just[uint64](0), rapid.Uint64()).Draw(t, "uint") & (1<<(8*typ.Size()-1)<<1 - 1))
	default:
		panic("a message has a field of type " + typ.String())
	}
}

// both are a random frame of either direction.
func both(t *rapid.T) []wire.Message {
	var s frames.FrameToServer
	var c frames.FrameToClient
	fill(t, reflect.ValueOf(&s).Elem())
	fill(t, reflect.ValueOf(&c).Elem())
	return []wire.Message{&s, &c}
}

func TestAFrameSaysTheSameInBothEncodings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, m := range both(t) {
			b, text := wire.Marshal(m), wire.ToJSON(m)
			one := reflect.New(reflect.TypeOf(m).Elem()).Interface().(wire.Message)
			other := reflect.New(reflect.TypeOf(m).Elem()).Interface().(wire.Message)
			if err := wire.FromJSON(text, one); err != nil {
				t.Fatalf("reading %s: %v", text, err)
			}
			if err := wire.Unmarshal(b, other); err != nil {
				t.Fatalf("reading %x: %v", b, err)
			}
			for name, back := range map[string]wire.Message{"JSON": one, "Protocol Buffers": other} {
				if got := wire.Marshal(back); string(got) != string(b) {
					t.Errorf("out of %s:\n%x, want\n%x", name, got, b)
				}
				if got := wire.ToJSON(back); string(got) != string(text) {
					t.Errorf("out of %s:\n%s, want\n%s", name, got, text)
				}
			}
		}
	})
}

// What a program in another language writes: fields in whatever order, null for what is not there.
func TestFramesAreReadAsOthersWriteThem(t *testing.T) {
	last := int64(4)
	for text, want := range map[string]frames.ToServer{
		` {"totalSlots": 2, "name": "a", "type": "ToServerInit", "lastCommandIdx": null, "metadata": null} `: &frames.ToServerInit{Name: "a", TotalSlots: 2, Metadata: json.RawMessage("null")},
		`{"lastCommandIdx":4,"version":3,"type":"ToServerInit","prepopulateTaskNames":{"t":{"x":1},"u":null},"totalSlots":1,"name":"b"}`: &frames.ToServerInit{Name: "b", Version: 3, TotalSlots: 1,
			LastCommandIdx: &last, PrepopulateTaskNames: []wire.Pair{{Key: "t", Value: json.RawMessage(`{"x":1}`)}, {Key: "u", Value: json.RawMessage("null")}}},
		`{"events":[{"inner":{"state":"running","token":"k","type":"TaskState"},"index":0}],"type":"ToServerEvents"}`:                                                                            &frames.ToServerEvents{Events: []frames.Event{{Inner: &frames.TaskState{Token: "k", State: frames.StateRunning}}}},
		`{"type":"ToServerEvents","events":[{"index":7,"inner":{"type":"TaskState","token":"k","state":"stopped","ok":false,"error":{"message":"m"}}}]}`:                                         &frames.ToServerEvents{Events: []frames.Event{{Index: 7, Inner: &frames.TaskState{Token: "k", State: frames.StateStopped, Error: &frames.TaskError{Message: "m"}}}}},
		`{"type":"ToServerEvents","events":[{"index":7,"inner":{"type":"TaskState","token":"k","state":"stopped","error":{"type":"x","retryable":false,"retryAfter":5,"details":{"type":1}}}}]}`: &frames.ToServerEvents{Events: []frames.Event{{Index: 7, Inner: &frames.TaskState{Token: "k", State: frames.StateStopped, Error: &frames.TaskError{Type: "x", NonRetryable: true, RetryAfter: 5, Details: json.RawMessage(`{"type":1}`)}}}}},
		`{"ts":0,"type":"ToServerPing"}`: &frames.ToServerPing{},
		`{"type":"ToServerStopping"}`:    &frames.ToServerStopping{},
	} {
		got, err := frames.DecodeToServer(frames.JSON, []byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis read as %+v, %v", text, got, err)
		}
	}
}

func TestMalformedFramesAreRefusedWithAReason(t *testing.T) {
	for text, reason := range map[string]string{
		``:                                      "EOF",
		`{`:                                     "EOF",
		`[]`:                                    "is no object",
		`{}`:                                    "it has no message",
		`{"ts":1}`:                              `no "type"`,
		`{"type":"ToServerPong"}`:               "unknown type",
		`{"type":1}`:                            "is no text",
		`{"type":"ToServerPing"}x`:              "behind",
		`{"type":"ToServerPing","ts":1,"ts":2}`: "twice",
		`{"type":"ToServerPing","ts":1,"type":"ToServerPing"}`:             "twice",
		`{"ts":1,"type":"ToServerPing","type":"ToServerInit"}`:             "twice",
		`{"type":"ToServerPing","ts":"1"}`:                                 "is no number",
		`{"type":"ToServerPing","ts":1.5}`:                                 "whole number",
		`{"type":"ToServerPing","ts":9223372036854775808}`:                 "whole number",
		`{"type":"ToServerPing","time":1}`:                                 `no field "time"`,
		`{"type":"ToServerAckCommands","lastCommandIdx":-1}`:               "-1",
		`{"type":"ToServerInit","name":"a","totalSlots":0}`:                "totalSlots is 0",
		`{"type":"ToServerInit","name":"a","totalSlots":1e3}`:              "whole number",
		`{"type":"ToServerInit","name":"","totalSlots":1}`:                 "name has 0 bytes",
		`{"type":"ToServerInit","name":"a","totalSlots":1,"version":-1}`:   "whole number",
		`{"type":"ToServerInit","name":"a","totalSlots":1,"metadata":}`:    "invalid",
		"{\"type\":\"ToServerInit\",\"name\":\"\xff\",\"totalSlots\":1}":   "UTF-8",
		`{"type":"ToServerEvents","events":{}}`:                            "is no list",
		`{"type":"ToServerEvents","events":[1]}`:                           "is no object",
		`{"type":"ToServerEvents","events":[{"index":1}]}`:                 "is empty",
		`{"type":"ToServerEvents","events":[{"index":1,"inner":{}}]}`:      "is empty",
		`{"type":"ToServerEvents","events":[{"index":1,"inner":null}]}`:    "is empty",
		event(`{"type":"TaskState","token":"","state":"running"}`):         "token",
		event(`{"type":"TaskState","token":"a","state":"gone"}`):           "state",
		event(`{"type":"TaskState","token":"a","state":"stopped"}`):        "stopped",
		event(`{"type":"TaskState","token":"a","state":"running","ok":1}`): "neither true",
		event(`{"type":"TaskIntent","token":"a","intent":"run"}`):          "intent",
		`{"type":"ToServerEvents","events":[{"index":1,"inner":{"type":"Heartbeat","token":"a"}},{"index":1,"inner":{"type":"Heartbeat","token":"a"}}]}`: "behind",
		`{"type":"ToServerKvRequest","requestId":1,"token":"a"}`:                                     "asks nothing",
		`{"type":"ToServerTunnel","requestId":"r","messageIdx":65536,"inner":{"type":"RequestEnd"}}`: "whole number",
		`{"type":"ToServerTunnel","requestId":"r","inner":{"type":"RequestChunk","body":"=="}}`:      "base64url",
		`{"type":"ToServerTunnel","requestId":"r","inner":{"type":"ResponseStart","status":20}}`:     "status",
	} {
		m, err := frames.DecodeToServer(frames.JSON, []byte(text))
		if err == nil {
			t.Errorf("%s is read as %+v", text, m)
		} else if !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v does not say %q", text, err, reason)
		}
	}
}

func event(inner string) string {
	return `{"type":"ToServerEvents","events":[{"index":1,"inner":` + inner + `}]}`
}

func TestUserValuesOfBinaryFramesAreJSON(t *testing.T) {
	bad := &frames.ToServerEvents{Events: []frames.Event{{Inner: &frames.TaskState{Token: "a", State: frames.StateStopped, OK: true, Result: json.RawMessage("{")}}}}
	if _, err := frames.DecodeToServer(frames.Binary, frames.EncodeToServer(frames.Binary, bad)); err == nil {
		t.Error("a result that is no JSON was taken")
	}
}

func TestMessageIndexesOfATunnelWrap(t *testing.T) {
	for _, c := range []struct {
		a, b  uint16
		after bool
	}{{1, 0, true}, {0, 1, false}, {0, 65535, true}, {65535, 0, false}, {5, 5, false}, {200, 65400, true}} {
		if frames.After(c.a, c.b) != c.after {
			t.Errorf("%d comes after %d: want %v", c.a, c.b, c.after)
		}
	}
}

func TestATokenTravelsAsASubProtocol(t *testing.T) {
	for _, token := range []string{"x", "with spaces, and ü", "a.b-c_d~"} {
		p := frames.TokenProtocol(token)
		if strings.ContainsAny(p, " ,;=/") {
			t.Errorf("%q is no name of a sub-protocol", p)
		}
		if got, err := frames.ParseTokenProtocol([]string{frames.Subprotocol, p}); err != nil || got != token {
			t.Errorf("%q came as %q, %v", token, got, err)
		}
	}
	if _, err := frames.ParseTokenProtocol([]string{"heddle.token.="}); err == nil {
		t.Error("a token that is no base64url was taken")
	}
}

func TestKvRequestsHaveLimits(t *testing.T) {
	keys := make([]string, 129)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	value := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	for name, c := range map[string]struct {
		request frames.KvRequest
		code    string
	}{
		"128 keys":                   {&frames.KvGet{Keys: keys[:128]}, ""},
		"129 keys":                   {&frames.KvDelete{Keys: keys}, frames.KvTooManyKeys},
		"a key of 2048 bytes":        {&frames.KvGet{Keys: []string{strings.Repeat("k", 2048)}}, ""},
		"a key of 2049 bytes":        {&frames.KvGet{Keys: []string{strings.Repeat("k", 2049)}}, frames.KvKeyLength},
		"no key":                     {&frames.KvDelete{Keys: []string{""}}, frames.KvKeyLength},
		"a value of 131072 bytes":    {&frames.KvPut{Entries: []frames.KvEntry{{Key: "k", Value: value(131_072)}}}, ""},
		"a value of 131073 bytes":    {&frames.KvPut{Entries: []frames.KvEntry{{Key: "k", Value: value(131_073)}}}, frames.KvValueTooLarge},
		"a value that is no JSON":    {&frames.KvPut{Entries: []frames.KvEntry{{Key: "k", Value: json.RawMessage("x")}}}, frames.KvInvalidValue},
		"a list of 129":              {&frames.KvList{Limit: 129}, frames.KvTooManyKeys},
		"a prefix of 2049 bytes":     {&frames.KvList{Prefix: strings.Repeat("k", 2049)}, frames.KvKeyLength},
		"a list of all, from behind": {&frames.KvList{Reverse: true}, ""},
	} {
		if err := c.request.Check(); (err == nil) != (c.code == "") || err != nil && err.Code != c.code {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}
