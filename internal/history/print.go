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
	"Due": true, "EndBy": true, "Expires": true, "Finished": true, "LeasedUntil": true, "StartBy": true, "Started": true, "Until": true,
}

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
	case int64:
		if timeFields[name] {
			o.add(key, stamp(x))
			return
		}
		o.add(key, x)
	default:
		o.add(key, x)
	}
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

func (o *object) end() json.RawMessage { return append(o.buf, '}') }
