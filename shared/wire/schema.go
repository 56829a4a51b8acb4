package wire

import (
	"fmt"
	"reflect"
	"strings"
)

// Schema renders the messages, and those nested in them, as a proto3 file.
// It is how the published .proto files are made and how a test finds out that
// they are out of date.
func Schema(pkg string, messages ...Message) string {
	s := &schemaBuilder{done: map[string]bool{}}
	for _, m := range messages {
		s.nested(m)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// Generated from the Go descriptions by `go generate ./...`; field numbers are never reused.\nsyntax = \"proto3\";\npackage %s;\n", pkg)
	for _, text := range s.messages {
		b.WriteString("\n" + text)
	}
	return b.String()
}

type schemaBuilder struct {
	done     map[string]bool
	messages []string
	current  *strings.Builder
}

// nested describes m once and returns its message name.
func (s *schemaBuilder) nested(m Message) string {
	name := reflect.TypeOf(m).Elem().Name()
	if s.done[name] {
		return name
	}
	s.done[name] = true
	outer := s.current
	s.current = &strings.Builder{}
	fmt.Fprintf(s.current, "message %s {\n", name)
	c := Codec{mode: describing, schema: s}
	m.Fields(&c)
	s.current.WriteString("}\n")
	s.messages = append(s.messages, s.current.String())
	s.current = outer
	return name
}

func (s *schemaBuilder) field(num int, name, typ string, repeated bool) {
	label := ""
	if repeated {
		label = "repeated "
	}
	s.labelled(num, name, typ, label)
}

// labelled describes a field of a type with what stands before that.
func (s *schemaBuilder) labelled(num int, name, typ, label string) {
	fmt.Fprintf(s.current, "  %s%s %s = %d;\n", label, typ, name, num)
}

// typeName is the name by which JSON tells the members of a OneOf apart.
const typeName = "type"

// OneOf visits a member of a closed set of messages, told apart by their field
// number. number and make are the set's own: the number of a member, and a new
// member for a number (nil when the number is unknown, which is an error).
func OneOf[M Message](c *Codec, p *M, number func(M) int, name func(int) string, create func(int) (M, bool), numbers []int) {
	switch c.mode {
	case encoding:
		c.message(number(*p), *p)
	case decoding:
		if c.num == 0 || c.err != nil {
			return
		}
		m, ok := create(int(c.num))
		if !ok {
			c.fail(fmt.Errorf("unknown kind %d", c.num))
			return
		}
		if c.at(int(c.num), 2) {
			*p = m
			c.descend(m)
		}
	case printing:
		n := number(*p)
		c.out.text(typeName, name(n))
		inner := Codec{mode: printing, out: c.out}
		(*p).Fields(&inner)
	case parsing:
		if c.in.at.is {
			parseOneOf(c, p, name, create, numbers)
		}
	case describing:
		c.schema.current.WriteString("  oneof kind {\n")
		for _, n := range numbers {
			m, _ := create(n)
			typ := c.schema.nested(m)
			fmt.Fprintf(c.schema.current, "    %s %s = %d;\n", typ, snake(typ), n)
		}
		c.schema.current.WriteString("  }\n")
	}
}

func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
