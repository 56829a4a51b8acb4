package events_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

func TestEveryMessageComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, m := range roots(random{t}) {
			b := wire.Marshal(m)
			back := reflect.New(reflect.TypeOf(m).Elem()).Interface().(wire.Message)
			if err := wire.Unmarshal(b, back); err != nil {
				t.Fatalf("%T: %v", m, err)
			}
			if got, want := string(wire.ToJSON(back)), string(wire.ToJSON(m)); got != want {
				t.Fatalf("%T came back as %s, want %s", m, got, want)
			}
			if again := wire.Marshal(back); string(again) != string(b) {
				t.Fatalf("%T encodes again as %x, want %x", m, again, b)
			}
		}
	})
}

// samples are a record for each kind of event and one for each inbox message,
// with every field set.
func samples() map[string]wire.Message {
	all := map[string]wire.Message{}
	for _, n := range events.Numbers() {
		e, _ := events.New(n)
		filled(&fixed{}, e)
		all[events.Name(e)] = &events.Envelope{Event: e}
	}
	for _, m := range []events.InboxMessage{&events.TaskOutcome{}, &events.TaskNotified{}, &events.TaskHeartbeat{}, &events.EntityMessage{}, &events.RunArchived{}, &events.RunRestore{}} {
		filled(&fixed{}, m)
		all[reflect.TypeOf(m).Elem().Name()] = &events.Inbox{Message: m}
	}
	for _, m := range append(roots(&fixed{}), filled(&fixed{}, &events.ReplyTo{})) { // it got a field after Record had its bytes
		all[reflect.TypeOf(m).Elem().Name()] = m
	}
	all["RunnableDispatchedFor"] = all["RunnableDispatched"]           // the event had its bytes before it got this field
	all["RunnableTimedOutWork"] = all["RunnableTimedOut"]              // and this one
	for _, field := range []string{"Told", "Open", "Drains", "Work"} { // the event had its bytes before it got this field
		all["WorkflowDeleted"+field] = all["WorkflowDeleted"]
	}
	return all
}

func TestEveryKindHasItsOwnNameAndShape(t *testing.T) {
	names := map[string]bool{}
	for _, n := range events.Numbers() {
		e, ok := events.New(n)
		if !ok {
			t.Fatalf("event %d cannot be made", n)
		}
		name := events.Name(e)
		if typ := reflect.TypeOf(e).Elem().Name(); typ != name {
			t.Errorf("event %d is a %s named %s", n, typ, name)
		}
		if names[name] {
			t.Errorf("the name %s is used twice", name)
		}
		names[name] = true
	}
	if _, ok := events.New(79); ok {
		t.Error("event 79, which nobody described, can be made")
	}
}

// Every field that a message has in Go travels: a field that Fields forgets
// would be lost at the first replay.
func TestEveryFieldTravels(t *testing.T) {
	for name, m := range samples() {
		back := reflect.New(reflect.TypeOf(m).Elem()).Interface().(wire.Message)
		if err := wire.Unmarshal(wire.Marshal(m), back); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(back, m) {
			t.Errorf("%s came back as %s, want %s", name, wire.ToJSON(back), wire.ToJSON(m))
		}
	}
}

// What a reader does not know stops it, because state folded without it would
// be another state.
func TestUnknownEventsAndFieldsStopAReader(t *testing.T) {
	good := events.EncodeRecord(filled(&fixed{}, &events.Record{}))
	for name, b := range map[string][]byte{
		"a field behind the last":  append(good[:len(good):len(good)], 0x7d&^7, 1),
		"an event of kind 79":      append(good[:len(good):len(good)], 10<<3|2, 3, 79<<3&0x7f|2|0x80, 79>>4, 0),
		"an event without content": append(good[:len(good):len(good)], 10<<3|2, 0),
		"half a record":            good[:len(good)/2],
	} {
		if r, err := events.DecodeRecord(b); err == nil {
			t.Errorf("%s is read as %s", name, wire.ToJSON(r))
		} else if !strings.HasPrefix(err.Error(), "decoding journal record: ") {
			t.Errorf("%s: the error does not say what was done: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{"nothing": nil, "an unknown message": {9<<3 | 2, 0}} {
		if _, err := events.DecodeInbox(b); err == nil {
			t.Errorf("%s is an inbox message", name)
		}
	}
}

func TestHistoryShowsAnEventWithItsName(t *testing.T) {
	e := &events.Envelope{Event: &events.RunnableCompleted{Runnable: 7, Fact: 12, Value: []byte(`{"n":1.0}`)}}
	want := `{"type":"RunnableCompleted","runnable":7,"fact":12,"value":{"n":1.0}}`
	if got := string(wire.ToJSON(e)); got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}
