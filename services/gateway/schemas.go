package gateway

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/shared/events"
)

// schemas makes JSON schemas of Go types. Types with a name stand once among
// the document's components.
type schemas struct {
	named node
	types map[string]reflect.Type
}

var (
	textType       = reflect.TypeFor[encoding.TextMarshaler]()
	rawType        = reflect.TypeFor[json.RawMessage]()
	durationType   = reflect.TypeFor[events.Duration]()
	durabilityType = reflect.TypeFor[runtime.Durability]()
)

// ref is the schema of an answer's type.
func (s *schemas) ref(v any) node { return s.of(reflect.TypeOf(v), false) }

// request is the schema of a request's type: it has no other fields, and those
// that are required are given.
func (s *schemas) request(v any, required []string) node {
	schema := s.object(reflect.TypeOf(v), true)
	delete(schema, "required")
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func (s *schemas) of(t reflect.Type, strict bool) node {
	switch t {
	case rawType:
		return node{}
	case durationType:
		return node{"type": []any{"string", "integer"}, "description": "a duration as 30s, or milliseconds"}
	case durabilityType:
		return node{"type": []any{"string", "object"}}
	}
	if t.Implements(textType) {
		return node{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(s.of(t.Elem(), strict))
	case reflect.String:
		return node{"type": "string"}
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.Slice:
		return node{"type": "array", "items": s.of(t.Elem(), strict)}
	case reflect.Map:
		return node{"type": "object", "additionalProperties": s.of(t.Elem(), strict)}
	case reflect.Struct:
		return s.structure(t, strict)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return node{"type": "integer"}
	default: // any value
		return node{}
	}
}

func nullable(n node) node {
	if typ, ok := n["type"].(string); ok {
		n["type"] = []any{typ, "null"}
		return n
	}
	return node{"anyOf": []any{n, node{"type": "null"}}}
}

// structure refers to a named answer type; what requests are made of stands in
// place, because there it is strict.
func (s *schemas) structure(t reflect.Type, strict bool) node {
	if strict {
		return s.object(t, true)
	}
	name := schemaName(t)
	if _, ok := s.named[name]; !ok {
		s.named[name], s.types[name] = node{}, t // so that a type may hold itself
		s.named[name] = s.object(t, false)
	}
	if s.types[name] != t {
		panic(fmt.Sprintf("two types have the schema name %s: %s and %s", name, s.types[name], t))
	}
	return node{"$ref": "#/components/schemas/" + name}
}

// schemaName is the type's name; of List[package.Item] it is ListOfItem.
func schemaName(t reflect.Type) string {
	base, arg, generic := strings.Cut(t.Name(), "[")
	base = strings.ToUpper(base[:1]) + base[1:]
	if !generic {
		return base
	}
	arg = strings.TrimSuffix(arg, "]")
	return base + "Of" + arg[strings.LastIndex(arg, ".")+1:]
}

func (s *schemas) object(t reflect.Type, strict bool) node {
	properties, required := node{}, []string{}
	s.fields(t, strict, properties, &required)
	out := node{"type": "object", "properties": properties}
	if strict {
		out["additionalProperties"] = false
	}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	return out
}

func (s *schemas) fields(t reflect.Type, strict bool, properties node, required *[]string) {
	eachField(t, func(f reflect.StructField, name, options string) {
		properties[name] = s.of(f.Type, strict)
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	})
}

// fieldsOf are the names of the JSON fields of a struct.
func fieldsOf(t reflect.Type) (names []string) {
	if t.Kind() == reflect.Struct {
		eachField(t, func(_ reflect.StructField, name, _ string) { names = append(names, name) })
	}
	return names
}

// eachField goes through the JSON fields of a struct, those of what it embeds too.
func eachField(t reflect.Type, do func(f reflect.StructField, name, options string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			eachField(f.Type, do)
		case f.IsExported() && name != "-":
			do(f, name, options)
		}
	}
}
