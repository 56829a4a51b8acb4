package wire

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

const optional = "optional " // before a field of proto3

// Fields whose zero says something, or whose absence does.

// Index visits an integer that a reader of JSON always finds, 0 too: a place in a sequence, a time.
func Index[T Integer](c *Codec, num int, name string, p *T) {
	switch c.mode {
	case printing:
		c.out.raw(name, digits(*p))
	case describing:
		f := integer[T](num, name)
		f.Always = true
		c.schema.add(f)
	default:
		Int(c, num, name, p)
	}
}

// Maybe visits an integer that may be none, which is nil, and null in JSON; 0 is another thing.
func Maybe[T Integer](c *Codec, num int, name string, p **T) {
	switch c.mode {
	case encoding:
		if *p != nil {
			c.tag(num, protowire.VarintType)
			c.varint(uint64(**p))
		}
	case decoding:
		if c.at(num, protowire.VarintType) {
			v := narrow[T](c, num, c.value)
			*p = &v
			c.next()
		}
	case printing:
		if *p == nil {
			c.out.raw(name, "null")
		} else {
			c.out.raw(name, digits(**p))
		}
	case parsing:
		if c.given(num, name) {
			v := readInt[T](c)
			*p = &v
			c.advance()
		}
	case describing:
		f := integer[T](num, name)
		f.Label, f.Always, f.Null = optional, true, true
		c.schema.add(f)
	}
}

// Unless visits a boolean that is true where it is not there. p points to its opposite.
func (c *Codec) Unless(num int, name string, p *bool) {
	switch c.mode {
	case encoding:
		if *p {
			c.tag(num, protowire.VarintType)
			c.buf = append(c.buf, 0)
		}
	case decoding:
		if c.at(num, protowire.VarintType) {
			*p = c.value == 0
			c.next()
		}
	case printing:
		if *p {
			c.out.raw(name, "false")
		}
	case parsing:
		if c.given(num, name) {
			*p = !c.readBool()
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: "bool", Label: optional, JSON: KindDefault})
	}
}

// Pair is a user value under a key.
type Pair struct {
	Key   string
	Value json.RawMessage
}

// Fields implements Message: an entry of a proto3 map.
func (p *Pair) Fields(c *Codec) {
	String(c, 1, "key", &p.Key)
	c.JSON(2, "value", &p.Value)
}

// Pairs visits user values under keys, none of which comes twice: an object in JSON, a map in proto3.
// Their order is kept, and says nothing.
func (c *Codec) Pairs(num int, name string, p *[]Pair) {
	switch c.mode {
	case encoding:
		Repeated(c, num, name, p)
	case decoding:
		before := len(*p)
		if Repeated(c, num, name, p); len(*p) > before {
			c.distinct(name, *p)
		}
	case printing:
		if len(*p) > 0 {
			c.out.name(name)
			c.out.pairs(*p)
		}
	case parsing:
		if c.given(num, name) {
			*p = c.readPairs()
			c.distinct(name, *p)
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: "map<string, bytes>", JSON: KindPairs})
	}
}

func (c *Codec) distinct(name string, pairs []Pair) {
	known := make(map[string]bool, len(pairs))
	for _, p := range pairs {
		if known[p.Key] {
			c.fail(fmt.Errorf("%s has the key %.80q twice", name, p.Key))
			return
		}
		known[p.Key] = true
	}
}

// readPairs reads an object of user values.
func (c *Codec) readPairs() []Pair {
	if !c.begin('{', "object") {
		return nil
	}
	var all []Pair
	for c.err == nil && c.in.dec.PeekKind() == '"' {
		key := c.readText()
		all = append(all, Pair{key, c.readRaw()})
	}
	c.token()
	return all
}

// pairs writes user values as an object. One that is empty is null.
func (p *printer) pairs(all []Pair) {
	p.plain("{")
	for _, pair := range all {
		value := pair.Value
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		p.json(pair.Key, value)
	}
	p.plain("}")
}
