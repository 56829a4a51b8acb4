package events_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
)

const place = "commands/3/17"

func binary(name string, more ...string) []events.Header {
	h := []events.Header{{Key: events.HeaderType, Value: []byte(events.CommandType(name))}}
	for i := 0; i < len(more); i += 2 {
		h = append(h, events.Header{Key: more[i], Value: []byte(more[i+1])})
	}
	return h
}

func structured(name, data string) string {
	return fmt.Sprintf(`{"specversion":"1.0","type":%q,"source":"shop","id":"7","data":%s}`, events.CommandType(name), data)
}

func parse(t *testing.T, key string, headers []events.Header, value string) *events.Command {
	t.Helper()
	cmd, err := events.ParseCommand([]byte(key), headers, []byte(value), place)
	if err != nil {
		t.Fatalf("parsing %s: %v", value, err)
	}
	return cmd
}

func TestACommandMayComeInThreeForms(t *testing.T) {
	want := &events.StartWorkflow{Definition: []byte(`"orders"`), Input: []byte(`{"n":1.0}`), By: events.By{Who: "ann", Why: "test"}}
	fields := `"definition":"orders","input":{"n":1.0},"by":"ann","why":"test"`
	forms := map[string]*events.Command{
		"binary":     parse(t, "w1", binary("start", events.HeaderID, "7", events.HeaderSource, "shop"), "{"+fields+"}"),
		"structured": parse(t, "w1", nil, structured("start", "{"+fields+"}")),
		"bare":       parse(t, "w1", nil, `{"command":"start","id":"7","source":"shop",`+fields+`}`),
	}
	for form, cmd := range forms {
		if cmd.Name != "start" || cmd.Workflow != "w1" || cmd.Source != "shop" || cmd.ID != "7" {
			t.Errorf("%s: %+v", form, cmd)
		}
		if !reflect.DeepEqual(cmd.Body, want) {
			t.Errorf("%s: body %+v, want %+v", form, cmd.Body, want)
		}
		if cmd.DedupeID() != "shop\x007" {
			t.Errorf("%s: dedupe id %q", form, cmd.DedupeID())
		}
	}
}

func TestThePlaceStandsInForAMissingID(t *testing.T) {
	for form, cmd := range map[string]*events.Command{
		"bare":   parse(t, "w1", nil, `{"command":"pause","source":"shop"}`),
		"binary": parse(t, "w1", binary("pause", events.HeaderSource, "shop"), ``),
	} {
		if cmd.ID != place || cmd.Source != "" {
			t.Errorf("%s: source %q, id %q", form, cmd.Source, cmd.ID)
		}
	}
}

func TestWhoAsksIsToldUnderTheIDOfTheCommand(t *testing.T) {
	headers := binary("pause", events.HeaderID, "7", events.HeaderReplyTo, "me", events.HeaderReplyWait, "drained", events.HeaderTrace, "00-aa-bb-01")
	cmd := parse(t, "w1", headers, `{}`)
	if want := (events.ReplyTo{Address: "me", ID: "7", Wait: true, Command: "pause"}); cmd.ReplyTo != want || cmd.Trace != "00-aa-bb-01" {
		t.Errorf("reply to %+v, trace %q", cmd.ReplyTo, cmd.Trace)
	}
	cmd = parse(t, "w1", binary("start", events.HeaderID, "7", events.HeaderReplyTo, "me", events.HeaderReplyWait, "end"), `{"definition":"d"}`)
	if want := (events.ReplyTo{Address: "me", ID: "7", Wait: true, End: true, Command: "start"}); cmd.ReplyTo != want {
		t.Errorf("reply to %+v", cmd.ReplyTo)
	}
	cmd = parse(t, "w1", binary("pause", events.HeaderReplyTo, "me", events.HeaderReplyID, "q", events.HeaderReplyWait, "Ende"), `{}`)
	if cmd.ReplyTo.Wait || cmd.ReplyTo.End {
		t.Errorf("an unknown wait is %+v", cmd.ReplyTo)
	}
	cmd = parse(t, "w1", binary("pause", events.HeaderReplyTo, "me", events.HeaderReplyID, "q"), `{}`)
	if cmd.ReplyTo.ID != "q" {
		t.Errorf("reply id %q", cmd.ReplyTo.ID)
	}
	cmd = parse(t, "w1", nil, `{"command":"pause","reply_to":"me"}`)
	if want := (events.ReplyTo{Address: "me", ID: place, Command: "pause"}); cmd.ReplyTo != want {
		t.Errorf("reply to %+v", cmd.ReplyTo)
	}
}

func TestABadTraceIsDroppedWithoutHarm(t *testing.T) {
	for _, trace := range []string{strings.Repeat("x", 200), "a\nb", "\xff"} {
		if cmd := parse(t, "w1", binary("pause", events.HeaderTrace, trace), `{}`); cmd.Trace != "" {
			t.Errorf("trace %q", cmd.Trace)
		}
	}
}

func TestTheDigestTellsOtherContentUnderOneID(t *testing.T) {
	digest := func(name, value string) uint64 { return parse(t, "w1", binary(name), value).Digest }
	one := digest("input", `{"input":1}`)
	if again := digest("input", `{"input":1}`); again != one {
		t.Error("the same content has two digests")
	}
	if digest("input", `{"input":2}`) == one {
		t.Error("other content has the same digest")
	}
	if digest("pause", `{}`) == digest("resume", `{}`) {
		t.Error("another command has the same digest")
	}
}

func TestEveryCommandIsUnderstood(t *testing.T) {
	token := events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w1", Attempt: 1}))
	persist := false
	cases := []struct {
		name, data string
		want       events.CommandBody
	}{
		{"start", `{"definition":{"name":"x"}}`, &events.StartWorkflow{Definition: []byte(`{"name":"x"}`)}},
		{"input", `{"input":null,"mode":"replace"}`, &events.FeedInput{Input: []byte("null"), Mode: "replace"}},
		{"pause", `{"by":"ann"}`, &events.PauseWorkflow{By: events.By{Who: "ann"}}},
		{"resume", `{}`, &events.ResumeWorkflow{}},
		{"stop", `{"drain":"1m30s","persist":false}`, &events.StopWorkflow{Drain: events.Duration(90 * time.Second), Persist: &persist}},
		{"stop", `{"drain":1500}`, &events.StopWorkflow{Drain: events.Duration(1500 * time.Millisecond)}},
		{"stop", `{"drain":null}`, &events.StopWorkflow{}},
		{"cancel", ``, &events.CancelWorkflow{}},
		{"retry", `{"runnable":"r7"}`, &events.RetryRunnables{Runnables: []string{"r7"}}},
		{"retry", `{"component":"a","input":{"n":1}}`, &events.RetryRunnables{Component: "a", Input: []byte(`{"n":1}`)}},
		{"signal", `{"name":"go","key":"k","input":[1],"by":"ann"}`, &events.SignalWorkflow{Name: "go", Key: "k", Input: json.RawMessage(`[1]`), By: events.By{Who: "ann"}}},
		{"skip", `{"runnable":"r7","why":"broken"}`, &events.SkipRunnable{Runnable: "r7", By: events.By{Why: "broken"}}},
		{"checkpoint", `{}`, &events.CheckpointWorkflow{}},
		{"delete", `{"force":true}`, &events.DeleteWorkflow{Force: true}},
		{"complete", `{"token":"` + token + `","result":null}`, &events.CompleteAttempt{Token: token, Result: []byte("null")}},
		{"fail", `{"token":"` + token + `","error":{"message":"no"}}`, &events.FailAttempt{Token: token, Error: events.AttemptFailure{Message: "no"}}},
		{"heartbeat", `{"token":"` + token + `"}`, &events.HeartbeatAttempt{Token: token}},
		{"keep", `{"token":"` + token + `","delete":["a"],"put":[{"key":"b","value":[1]}]}`, &events.KeepKeys{
			Token: token, Delete: []string{"a"}, Put: []events.KeptCandidate{{Key: "b", Value: []byte("[1]")}},
		}},
	}
	for _, c := range cases {
		t.Run(c.name+c.data, func(t *testing.T) {
			if got := parse(t, "w1", binary(c.name), c.data).Body; !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestPartitionsTakeCommandsOfTheirOwn(t *testing.T) {
	by := events.By{Who: "ann", Why: "it is dead"}
	for name, want := range map[string]events.CommandBody{
		"force_release":  &events.ReleasePartition{By: by},
		"mark_stale":     &events.MarkPartitionStale{By: by},
		"request_replay": &events.ReplayPartition{By: by},
	} {
		cmd := parse(t, events.PartitionWorkflow(3), binary(name), `{"by":"ann","why":"it is dead"}`)
		if !reflect.DeepEqual(cmd.Body, want) || cmd.Workflow != "_partition/3" {
			t.Errorf("%s: %+v", name, cmd)
		}
	}
}

func TestCommandsThatCannotBeUnderstoodSayWhy(t *testing.T) {
	deep := strings.Repeat("[", 101) + strings.Repeat("]", 101)
	long := strings.Repeat("x", events.MaxCommandText+1)
	cases := []struct {
		name    string
		key     string
		headers []events.Header
		value   string
		code    string
		path    string
	}{
		{"no key", "", nil, `{"command":"pause"}`, "invalid_workflow_id", "key"},
		{"a key with a space", "a b", nil, `{"command":"pause"}`, "invalid_workflow_id", "key"},
		{"a key that is too long", strings.Repeat("x", 256), nil, `{"command":"pause"}`, "invalid_workflow_id", "key"},
		{"the system's key", "_x", nil, `{"command":"pause"}`, "invalid_workflow_id", "key"},
		{"a pool's key", "pool:a", nil, `{"command":"pause"}`, "invalid_workflow_id", "key"},
		{"a partition without number", "_partition/x", nil, `{"command":"mark_stale"}`, "invalid_workflow_id", "key"},
		{"a release by nobody", "_partition/3", nil, `{"command":"force_release","why":"it is dead"}`, "missing_field", "by"},
		{"a release for no reason", "_partition/3", nil, `{"command":"force_release","by":"ann"}`, "missing_field", "why"},
		{"a lease that is stale for no reason", "_partition/3", nil, `{"command":"mark_stale","reason":"odd","by":"ann"}`, "missing_field", "why"},
		{"a replay by nobody", "_partition/3", nil, `{"command":"request_replay","cursor":"inbox@1"}`, "missing_field", "by"},
		{"a release for a reason that is too long", "_partition/3", nil, `{"command":"force_release","by":"ann","why":"` + long + `"}`, "invalid_field", "why"},
		{"a lease that is stale for a reason that is too long", "_partition/3", nil, `{"command":"mark_stale","reason":"` + long + `","by":"ann","why":"odd"}`, "invalid_field", "reason"},
		{"a loss that somebody of a long name accepts", "_partition/3", nil, `{"command":"accept_loss","log":"inbox","from":1,"to":2,"by":"` + long + `","why":"gone"}`, "invalid_field", "by"},
		{"a replay with an escape sequence", "_partition/3", nil, `{"command":"request_replay","by":"ann","why":"\u001b[2J"}`, "invalid_field", "why"},
		{"a partition spelled otherwise", "_partition/03", nil, `{"command":"mark_stale"}`, "invalid_workflow_id", "key"},
		{"an empty value", "w1", nil, ``, "not_json", ""},
		{"bytes", "w1", nil, "\x00\x01", "not_json", ""},
		{"a list", "w1", nil, `[1]`, "not_json", ""},
		{"half an object", "w1", nil, `{"command":`, "not_json", ""},
		{"binary with a broken body", "w1", binary("input"), `{"input":`, "not_json", ""},
		{"no name", "w1", nil, `{}`, "missing_field", "command"},
		{"an unknown name", "w1", nil, `{"command":"explode"}`, "unknown_command", "command"},
		{"an unknown type", "w1", nil, `{"specversion":"1.0","type":"com.example.x","id":"1"}`, "unknown_command", "type"},
		{"an unknown version", "w1", []events.Header{{Key: "ce_type", Value: []byte("heddle.command.start.v2")}}, `{}`, "unknown_command", "type"},
		{"too deep", "w1", binary("input"), `{"input":` + deep + `}`, "too_deep", ""},
		{"an id that is too long", "w1", binary("pause", events.HeaderID, long), `{}`, "invalid_field", "id"},
		{"an id that is no text", "w1", binary("pause", events.HeaderID, "\xff"), `{}`, "invalid_field", "id"},
		{"an id with a zero byte", "w1", binary("pause", events.HeaderID, "a\x00b"), `{}`, "invalid_field", "id"},
		{"a source with a zero byte", "w1", binary("pause", events.HeaderSource, "a\x00b"), `{}`, "invalid_field", "source"},
		{"a reply address that is no text", "w1", binary("pause", events.HeaderReplyTo, "\xff"), `{}`, "invalid_field", "reply_to"},
		{"an id that is a number", "w1", nil, `{"command":"pause","id":7}`, "invalid_field", "id"},
		{"start without definition", "w1", binary("start"), `{}`, "missing_field", "definition"},
		{"start with null", "w1", binary("start"), `{"definition":null}`, "missing_field", "definition"},
		{"start with a number", "w1", binary("start"), `{"definition":3}`, "invalid_field", "definition"},
		{"policies that are no list", "w1", binary("start"), `{"definition":"x","policies":{}}`, "invalid_field", "policies"},
		{"options that are no object", "w1", binary("start"), `{"definition":"x","options":[]}`, "invalid_field", "options"},
		{"context that is no object", "w1", binary("start"), `{"definition":"x","context":1}`, "invalid_field", "context"},
		{"input without input", "w1", binary("input"), `{}`, "missing_field", "input"},
		{"input with an unknown mode", "w1", binary("input"), `{"input":1,"mode":"mix"}`, "invalid_field", "mode"},
		{"resume with bad policies", "w1", binary("resume"), `{"policies":"x"}`, "invalid_field", "policies"},
		{"stop with a bad duration", "w1", binary("stop"), `{"drain":"soon"}`, "invalid_field", "drain"},
		{"stop with a negative duration", "w1", binary("stop"), `{"drain":"-1s"}`, "invalid_field", "drain"},
		{"stop with more than a day", "w1", binary("stop"), `{"drain":"25h"}`, "invalid_field", "drain"},
		{"stop with more than an integer holds", "w1", binary("stop"), `{"drain":9223372036854775807}`, "invalid_field", "drain"},
		{"retry of what is no runnable", "w1", binary("retry"), `{"runnable":"7"}`, "invalid_field", "runnable"},
		{"retry of a list with a bad one", "w1", binary("retry"), `{"runnables":["r1","r0"]}`, "invalid_field", "runnables[1]"},
		{"retry of all with an input", "w1", binary("retry"), `{"input":1}`, "invalid_field", "input"},
		{"signal of no name", "w1", binary("signal"), `{"key":"k"}`, "missing_field", "name"},
		{"signal with a key that cannot be shown", "w1", binary("signal"), `{"name":"go","key":"a\u0000"}`, "invalid_field", "key"},
		{"skip of nothing", "w1", binary("skip"), `{}`, "missing_field", "runnable"},
		{"skip of what is no runnable", "w1", binary("skip"), `{"runnable":"rx"}`, "invalid_field", "runnable"},
		{"complete without token", "w1", binary("complete"), `{}`, "missing_field", "token"},
		{"complete with no token", "w1", binary("complete"), `{"token":"???"}`, "invalid_field", "token"},
		{"fail without error", "w1", binary("fail"), `{"token":"x"}`, "missing_field", "error"},
		{"heartbeat without token", "w1", binary("heartbeat"), `{}`, "missing_field", "token"},
		{"keep without token", "w1", binary("keep"), `{"delete":["a"]}`, "missing_field", "token"},
		{"keep of nothing", "w1", binary("keep"), `{"token":"x"}`, "missing_field", "put"},
		{"keep under no key", "w1", binary("keep"), `{"token":"x","put":[{"key":"a","value":1},{"value":2}]}`, "invalid_field", "put[1].key"},
		{"keep of no value", "w1", binary("keep"), `{"token":"x","put":[{"key":"a"}]}`, "missing_field", "put[0].value"},
		{"keep of a large value", "w1", binary("keep"), `{"token":"x","put":[{"key":"a","value":"` + strings.Repeat("v", 131_071) + `"}]}`, "invalid_field", "put[0].value"},
		{"keep under a long key", "w1", binary("keep"), `{"token":"x","delete":["` + strings.Repeat("k", 2049) + `"]}`, "invalid_field", "delete[0]"},
		{"keep under many keys", "w1", binary("keep"), `{"token":"x","delete":["k"` + strings.Repeat(`,"k"`, 128) + `]}`, "invalid_field", ""},
		{"an odd time of writing", "w1", append(binary("pause"), events.Header{Key: "Heddle-Written-At", Value: []byte("today")}), `{}`, "invalid_field", events.HeaderWritten},
		{"a field of another type", "w1", binary("delete"), `{"force":"yes"}`, "invalid_field", "force"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cmd, err := events.ParseCommand([]byte(c.key), c.headers, []byte(c.value), place)
			if err == nil {
				t.Fatalf("understood as %+v", cmd)
			}
			if err.Code != c.code || err.Path != c.path || err.Message == "" {
				t.Errorf("%+v, want %s at %q", err, c.code, c.path)
			}
		})
	}
}

func TestDurationsAreWrittenAsTheyAreRead(t *testing.T) {
	b, err := json.Marshal(events.Duration(90 * time.Second))
	if err != nil || string(b) != `"1m30s"` {
		t.Fatalf("%s, %v", b, err)
	}
	var d events.Duration
	if err := json.Unmarshal(b, &d); err != nil || d != events.Duration(90*time.Second) {
		t.Fatalf("%v, %v", d, err)
	}
}

func TestAFailureGivenByTokenIsRetryableUnlessItSaysOtherwise(t *testing.T) {
	no := false
	if e := (events.AttemptFailure{Message: "x"}).TaskError(); e.NonRetryable || e.Type != events.ErrorTaskFailed {
		t.Errorf("%+v", e)
	}
	if e := (events.AttemptFailure{Type: "declined", Retryable: &no}).TaskError(); !e.NonRetryable || e.Type != "declined" {
		t.Errorf("%+v", e)
	}
}

// A field that is misspelt is refused in every form, and by the way that reads
// starts as by the other; what stands around a bare command is none of its body.
func TestUnknownFieldsAreRefusedInEveryForm(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{"start", `"definition":"d","inptu":1`, "inptu"},
		{"start", `"definition":"d","input":1,"id2":"x"`, "id2"},
		{"input", `"input":1,"inputs":2`, "inputs"},
		{"fail", `"token":"AAAA","error":{"type":"t","massage":"m"}`, "error.massage"},
		{"pause", `"data":{}`, "data"},
	} {
		for form, of := range map[string]struct {
			headers []events.Header
			value   string
		}{
			"binary":     {binary(c.name), "{" + c.fields + "}"},
			"structured": {nil, structured(c.name, "{"+c.fields+"}")},
			"bare":       {nil, `{"command":"` + c.name + `","id":"7","source":"s","reply_to":"me","traceparent":"x",` + c.fields + `}`},
		} {
			if _, err := events.ParseCommand([]byte("w"), of.headers, []byte(of.value), place); err == nil || err.Code != "unknown_field" || err.Path != c.want {
				t.Errorf("%s %s: %v, want unknown_field at %s", form, c.fields, err, c.want)
			}
		}
	}
	if _, err := events.ParseCommand([]byte("w"), binary("start"), []byte(`{"definition":"d","command":"start"}`), place); err == nil || err.Path != "command" {
		t.Errorf("what only a bare command has is accepted elsewhere: %v", err)
	}
}

// JSON is UTF-8: other bytes would make every answer that shows them unreadable.
func TestValuesThatAreNoUTF8AreRefusedWithTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, body, path string }{
		{"start", "{\"definition\":\"d\",\"input\":{\"a\":[1,\"\xff\"]}}", "input.a[1]"},
		{"start", "{\"definition\":\"d\",\"context\":{\"a\":\"\xc3\"}}", "context.a"},
		{"input", "{\"input\":\"\xff\"}", "input"},
		{"complete", "{\"token\":\"AAAA\",\"result\":{\"a\":\"\xff\"}}", "result.a"},
		{"fail", "{\"token\":\"AAAA\",\"error\":{\"message\":\"\xff\"}}", "error.message"},
		{"heartbeat", "{\"token\":\"AAAA\",\"details\":\"\xff\"}", "details"},
		{"pause", "{\"why\":\"\xff\"}", "why"},
	} {
		_, err := events.ParseCommand([]byte("w"), binary(c.name), []byte(c.body), place)
		if err == nil || err.Code != "not_json" || err.Path != c.path || !strings.Contains(err.Message, "no UTF-8") {
			t.Errorf("%s %q: %v, want a place in %s", c.name, c.body, err, c.path)
		}
	}
}

func TestACompletionWithoutAResultIsRefused(t *testing.T) {
	for _, body := range []string{`{"token":"tluU30DogS_Fj5_hwkFdC8gAAAAEAAHcx"}`, ` {"token":"tluU30DogS_Fj5_hwkFdC8gAAAAEAAHcx"}`} {
		if _, err := events.ParseCommand([]byte("w"), binary("complete"), []byte(body), place); err == nil || err.Code != "missing_field" || err.Path != "result" {
			t.Errorf("%q: %v, want a missing result", body, err)
		}
	}
}

// Each owner that forwards a command says when it was written where that owner found it.
func TestAForwardedCommandIsAsOldAsItsFirstRecord(t *testing.T) {
	at := func(ms string) events.Header { return events.Header{Key: events.HeaderWritten, Value: []byte(ms)} }
	for want, headers := range map[int64][]events.Header{0: nil, 7: {at("7")}, 5: {at("5"), at("7")}, 6: {at("8"), at("6")}} {
		cmd, err := events.ParseCommand([]byte("w"), append(binary("pause"), headers...), []byte(`{}`), place)
		if err != nil || cmd.Written != want {
			t.Errorf("%d headers: %+v, %v, want %d", len(headers), cmd, err, want)
		}
	}
}
