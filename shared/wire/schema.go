package wire

import (
	"fmt"
	"strings"
)

// Schema renders the messages, and those nested in them, as a proto3 file.
// It is how the published .proto files are made and how a test finds out that
// they are out of date.
func Schema(pkg string, messages ...Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Generated from the Go descriptions by `go generate ./...`; field numbers are never reused.\nsyntax = \"proto3\";\npackage %s;\n", pkg)
	for _, s := range Shapes(messages...) {
		fmt.Fprintf(&b, "\nmessage %s {\n", s.Name)
		for _, f := range s.Fields {
			fmt.Fprintf(&b, "  %s%s %s = %d;\n", f.Label, f.Proto, f.Name, f.Number)
		}
		if len(s.Members) > 0 {
			b.WriteString("  oneof kind {\n")
			for _, m := range s.Members {
				fmt.Fprintf(&b, "    %s %s = %d;\n", m.Shape, snake(m.Shape), m.Number)
			}
			b.WriteString("  }\n")
		}
		b.WriteString("}\n")
	}
	return b.String()
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
		for _, n := range numbers {
			m, _ := create(n)
			member := Member{Number: n, Name: name(n), Shape: c.schema.nested(m)}
			c.schema.current.Members = append(c.schema.current.Members, member)
		}
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
