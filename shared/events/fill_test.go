package events_test

import (
	"encoding/json"
	"fmt"
	"reflect"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

var (
	rawJSON  = reflect.TypeFor[json.RawMessage]()
	blobType = reflect.TypeFor[[]byte]()
	event    = reflect.TypeFor[events.Event]()
	inbox    = reflect.TypeFor[events.InboxMessage]()
)

// source chooses the values of a message's fields.
type source interface {
	integer(name string) uint64
	text(name string) string
	blob(name string) []byte
	json(name string) json.RawMessage
	length(name string) int
	is(name string) bool
	event() events.Event
	inbox() events.InboxMessage
}

// fill sets every field of the struct v from s.
func fill(s source, name string, v reflect.Value) {
	switch t := v.Type(); {
	case t == rawJSON:
		v.SetBytes(s.json(name))
	case t == blobType:
		v.SetBytes(s.blob(name))
	case t == event:
		v.Set(reflect.ValueOf(s.event()))
	case t == inbox:
		v.Set(reflect.ValueOf(s.inbox()))
	case t.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(s, t.Field(i).Name, v.Field(i))
		}
	case t.Kind() == reflect.Pointer:
		if s.is(name) {
			v.Set(reflect.New(t.Elem()))
			fill(s, name, v.Elem())
		}
	case t.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(t, s.length(name), 8))
		for i := range v.Len() {
			fill(s, name, v.Index(i))
		}
	case t.Kind() == reflect.String:
		v.SetString(s.text(name))
	case t.Kind() == reflect.Bool:
		v.SetBool(s.is(name))
	case v.CanInt():
		v.SetInt(int64(s.integer(name)))
	case v.CanUint():
		v.SetUint(s.integer(name) & (1<<(8*t.Size()-1)<<1 - 1))
	default:
		panic(fmt.Sprintf("field %s has type %s, which no message should have", name, t))
	}
}

func filled[M wire.Message](s source, m M) M {
	fill(s, "", reflect.ValueOf(m).Elem())
	return m
}

// fixed is a source of the same telling values every time; none is zero.
type fixed struct{ n uint64 }

func (f *fixed) next() uint64               { f.n++; return f.n }
func (f *fixed) integer(string) uint64      { return f.next() }
func (f *fixed) text(name string) string    { return name }
func (f *fixed) blob(name string) []byte    { return []byte(name) }
func (f *fixed) length(string) int          { return 2 }
func (f *fixed) is(string) bool             { return true }
func (f *fixed) event() events.Event        { return filled(f, &events.RunnableDispatched{}) }
func (f *fixed) inbox() events.InboxMessage { return filled(f, &events.TaskHeartbeat{}) }
func (f *fixed) json(n string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"%s":%d}`, n, f.next()))
}

// random is a source over rapid; zero values are as likely as others.
type random struct{ t *rapid.T }

func (r random) integer(name string) uint64 {
	return rapid.OneOf(rapid.Just[uint64](0), rapid.Uint64Range(1, 300), rapid.Uint64()).Draw(r.t, name)
}
func (r random) text(name string) string { return rapid.String().Draw(r.t, name) }
func (r random) blob(name string) []byte {
	return rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(r.t, name)
}
func (r random) length(name string) int { return rapid.IntRange(0, 3).Draw(r.t, name) }
func (r random) is(name string) bool    { return rapid.Bool().Draw(r.t, name) }
func (r random) json(name string) json.RawMessage {
	return rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`null`), json.RawMessage(`{"a":[1,2.50,"x"]}`)}).Draw(r.t, name)
}
func (r random) event() events.Event {
	e, _ := events.New(rapid.SampledFrom(events.Numbers()).Draw(r.t, "kind"))
	return filled(r, e)
}
func (r random) inbox() events.InboxMessage {
	m := rapid.SampledFrom([]func() events.InboxMessage{
		func() events.InboxMessage { return &events.TaskOutcome{} },
		func() events.InboxMessage { return &events.TaskNotified{} },
		func() events.InboxMessage { return &events.TaskHeartbeat{} },
		func() events.InboxMessage { return &events.EntityMessage{} },
		func() events.InboxMessage { return &events.RunArchived{} },
		func() events.InboxMessage { return &events.RunRestore{} },
	}).Draw(r.t, "message")()
	return filled(r, m)
}

// roots are the messages that are whole records, each with the source's values.
func roots(s source) []wire.Message {
	return []wire.Message{
		filled(s, &events.Record{}), filled(s, &events.Inbox{}), filled(s, &events.Task{}),
		filled(s, &events.TaskCancel{}), filled(s, &events.Query{}),
	}
}
