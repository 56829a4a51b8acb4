package wire

import "reflect"

// Shape is what a message looks like, for whoever writes a schema.
type Shape struct {
	Name    string // of its Go type
	Fields  []Field
	Members []Member // of a OneOf; JSON has the fields of one of them, and its name as "type"
}

// Field is a field of a message.
type Field struct {
	Number int
	Name   string
	Proto  string // its type in proto3
	Label  string // what stands before that: "", "repeated " or "optional "
	JSON   Kind
	Least  int64  // of an integer
	Most   uint64 // of an integer
	Always bool   // JSON has it in any case
	Null   bool   // null says something else than zero
}

// Member is one of the messages of a OneOf.
type Member struct {
	Number int
	Name   string // in JSON
	Shape  string
}

// Kind is what JSON has for a field; Field.Label says whether it is a list.
type Kind uint8

// Kinds of fields.
const (
	KindObject  Kind = iota // a message, whose Shape is Field.Proto
	KindInteger             // in the bounds of the field
	KindBoolean
	KindDefault // a boolean that is true where it is not there
	KindText
	KindBytes // base64url without padding
	KindValue // any JSON
	KindPairs // an object of any JSON
)

// Shapes are the shapes of messages, each once and behind those that are nested in it.
func Shapes(messages ...Message) []Shape {
	s := &schemaBuilder{done: map[string]bool{}}
	for _, m := range messages {
		s.nested(m)
	}
	return s.shapes
}

type schemaBuilder struct {
	done    map[string]bool
	shapes  []Shape
	current *Shape
}

// nested describes m once and returns its message name.
func (s *schemaBuilder) nested(m Message) string {
	name := reflect.TypeOf(m).Elem().Name()
	if s.done[name] {
		return name
	}
	s.done[name] = true
	outer := s.current
	s.current = &Shape{Name: name}
	c := Codec{mode: describing, schema: s}
	m.Fields(&c)
	s.shapes = append(s.shapes, *s.current)
	s.current = outer
	return name
}

func (s *schemaBuilder) add(f Field) { s.current.Fields = append(s.current.Fields, f) }

const repeated = "repeated "

// integer is a field that Int visits.
func integer[T Integer](num int, name string) Field {
	f := Field{Number: num, Name: name, Proto: scalar[T](), JSON: KindInteger}
	bits := reflect.TypeFor[T]().Bits()
	if signed[T]() {
		f.Least, f.Most = -1<<(bits-1), 1<<(bits-1)-1
	} else {
		f.Most = 1<<(bits-1)<<1 - 1
	}
	return f
}
