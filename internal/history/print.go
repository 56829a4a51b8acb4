package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// Names resolves the component indexes of one run's events.
type Names struct {
	components []string
	byRunnable map[events.RunnableID]uint32 // as far as their events were seen
}

// maxKnown bounds the runnables whose component is remembered; events of others
// go without.
const maxKnown = 1 << 16

// NewNames takes the components in the order of the definition's indexes.
func NewNames(components []string) *Names {
	return &Names{components: components, byRunnable: map[events.RunnableID]uint32{}}
}

func (n *Names) component(i uint32) string {
	if int(i) < len(n.components) {
		return n.components[i]
	}
	return fmt.Sprintf("#%d", i)
}

// see learns which component a runnable is of.
func (n *Names) see(e events.Event) {
	if r, ok := e.(*events.RunnableReady); ok && len(n.byRunnable) < maxKnown {
		n.byRunnable[r.Runnable] = r.Component
	}
}

// timeFields hold Unix milliseconds, which people read as times.
var timeFields = map[string]bool{
	"At":  true,
	"Due": true, "EndBy": true, "Expires": true, "Finished": true, "LeasedUntil": true, "StartBy": true, "Started": true, "Until": true,
}

// spanFields hold milliseconds that something lasts, and are shown with _ms behind the name.
var spanFields = map[string]bool{"For": true, "Per": true, "Threshold": true}

// Print is one event as the history shows it: position, time, type, and its own
// fields, with names instead of numbers. Fields that are zero are left out. An input
// that changed nothing has its number among those of the run.
func (n *Names) Print(i Item) json.RawMessage {
	e := i.Event
	n.see(e)
	o := object{}
	o.add("position", i.Cursor.Position.String())
	o.add("time", stamp(i.Time))
	o.add("type", events.Name(e))
	if withoutEffect(e) {
		o.add("without_effect", i.Cursor.WithoutEffect)
	}
	v := reflect.ValueOf(e).Elem()
	_, named := v.Type().FieldByName("Component")
	for i := range v.NumField() {
		n.field(&o, v.Type().Field(i).Name, v.Field(i))
		if r, ok := v.Field(i).Interface().(events.RunnableID); ok && !named {
			if c, known := n.byRunnable[r]; known {
				o.add("component", n.component(c))
			}
		}
	}
	return o.end()
}

func (n *Names) field(o *object, name string, v reflect.Value) {
	key := snake(name)
	if name == "Component" {
		o.add(key, n.component(uint32(v.Uint())))
		return
	}
	if v.IsZero() || name == "Policy" { // a resolved policy is encoded for machines
		return
	}
	if name == "Form" {
		o.add(key, policy.Form(v.Uint()).String())
		return
	}
	switch x := v.Interface().(type) {
	case events.RunnableID:
		o.add(key, x.String())
	case events.FactID:
		o.add(key, x.String())
	case []events.FactID:
		o.add(key, facts(x))
	case []events.RestoredRow, []events.DefinitionPinned: // a whole state
	case []events.ReplyTo: // addresses of callers, which mean something to planners only
	case events.Action:
		o.add(key, x.String())
	case events.Purpose:
		o.add(key, x.String())
	case events.Answer:
		o.add(key, x.String())
	case events.Source:
		o.add(key, x.String())
	case events.By:
		if x.Who != "" {
			o.add("by", x.Who)
		}
		if x.Why != "" {
			o.add("why", x.Why)
		}
	case json.RawMessage:
		o.raw(key, x)
	case events.Position:
		o.add(key, x.String())
	case int64:
		switch {
		case timeFields[name]:
			o.add(key, stamp(x))
		case spanFields[name]:
			o.add(key+"_ms", x)
		default:
			o.add(key, x)
		}
	case uint64:
		if spanFields[name] {
			key += "_ms"
		}
		o.add(key, x)
	default:
		n.other(o, key, v)
	}
}

// other adds a value that is JSON by itself, or structs, whose fields are shown as those of the event are.
func (n *Names) other(o *object, key string, v reflect.Value) {
	switch {
	case structure(v.Type()):
		o.raw(key, n.inner(v))
	case v.Kind() == reflect.Slice && structure(v.Type().Elem()):
		list := make([]json.RawMessage, v.Len())
		for i := range list {
			list[i] = n.inner(v.Index(i))
		}
		o.add(key, list)
	default:
		o.add(key, v.Interface())
	}
}

// structure reports whether values of a type are structs that do not say themselves how they are printed.
func structure(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Tag.Get("json") == "" && !t.Implements(reflect.TypeFor[json.Marshaler]())
}

// inner is a struct within an event. Work in hand has the number of its component plus one, 0 for none.
func (n *Names) inner(v reflect.Value) json.RawMessage {
	o := object{}
	v = reflect.Indirect(v)
	t := v.Type()
	work := t == reflect.TypeFor[events.Work]() || t == reflect.TypeFor[events.RetryWork]()
	for i := range t.NumField() {
		switch f := t.Field(i); {
		case !f.IsExported():
		case work && f.Name == "Component":
			if c := v.Field(i).Uint(); c > 0 {
				o.add("component", n.component(uint32(c-1)))
			}
		default:
			n.field(&o, f.Name, v.Field(i))
		}
	}
	return o.end()
}

// facts prints the parents of an activation; a dead optional arm is null.
func facts(ids []events.FactID) []any {
	list := make([]any, len(ids))
	for i, id := range ids {
		if id != 0 {
			list[i] = id.String()
		}
	}
	return list
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// object writes a JSON object field by field.
type object struct{ buf []byte }

func (o *object) add(key string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("field %s of an event: %v", key, err)) // plain types always marshal
	}
	o.raw(key, b)
}

// raw adds a user value as it is; one that is no JSON is shown as a string.
func (o *object) raw(key string, b []byte) {
	if !json.Valid(b) {
		o.add(key, string(b))
		return
	}
	if o.buf == nil {
		o.buf = append(o.buf, '{')
	} else {
		o.buf = append(o.buf, ',')
	}
	o.buf = strconv.AppendQuote(o.buf, key)
	o.buf = append(append(o.buf, ':'), b...)
}

func (o *object) end() json.RawMessage {
	if o.buf == nil {
		return json.RawMessage("{}")
	}
	return append(o.buf, '}')
}
