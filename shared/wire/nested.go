package wire

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

var errTooDeep = errors.New("messages are nested too deeply")

// Pointer is the constraint of a message type T whose pointer describes it.
type Pointer[T any] interface {
	*T
	Message
}

// Nested visits a message that is a value inside another one. An all-zero
// message is left out and comes back as zero.
func Nested[T any, P Pointer[T]](c *Codec, num int, name string, p P) {
	switch c.mode {
	case encoding:
		start := len(c.buf)
		c.message(num, p)
		if c.buf[len(c.buf)-1] == 0 && len(c.buf) == start+tagLen(num)+1 {
			c.buf = c.buf[:start]
		}
	case decoding:
		if c.at(num, protowire.BytesType) {
			c.descend(p)
		}
	case printing:
		if !isZero(p) {
			c.out.object(name, p)
		}
	case parsing:
		if c.given(num, name) {
			c.object(p)
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: c.schema.nested(p)})
	}
}

// Optional visits a message behind a pointer; nil is left out.
func Optional[T any, P Pointer[T]](c *Codec, num int, name string, p *P) {
	switch c.mode {
	case encoding:
		if *p != nil {
			c.message(num, *p)
		}
	case decoding:
		if c.at(num, protowire.BytesType) {
			*p = P(new(T))
			c.descend(*p)
		}
	case printing:
		if *p != nil {
			c.out.object(name, *p)
		}
	case parsing:
		if c.given(num, name) {
			*p = P(new(T))
			c.object(*p)
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: c.schema.nested(P(new(T)))})
	}
}

// Repeated visits a list of messages.
func Repeated[T any, P Pointer[T]](c *Codec, num int, name string, p *[]T) {
	switch c.mode {
	case encoding:
		for i := range *p {
			c.message(num, P(&(*p)[i]))
		}
	case decoding:
		for c.at(num, protowire.BytesType) {
			var zero T
			*p = append(*p, zero)
			c.descend(P(&(*p)[len(*p)-1]))
		}
	case printing:
		if len(*p) > 0 {
			c.out.list(name, len(*p), func(i int, out *printer) { out.message(P(&(*p)[i])) })
		}
	case parsing:
		if c.given(num, name) {
			c.items(func() {
				var zero T
				*p = append(*p, zero)
				c.object(P(&(*p)[len(*p)-1]))
			})
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: c.schema.nested(P(new(T))), Label: repeated})
	}
}

// Element writes one message of a list that the caller goes through itself. It is
// for encoding only.
func (c *Codec) Element(num int, m Message) { c.message(num, m) }

// Strings visits a list of strings.
func (c *Codec) Strings(num int, name string, p *[]string) {
	switch c.mode {
	case encoding:
		for _, s := range *p {
			c.tag(num, protowire.BytesType)
			c.buf = protowire.AppendString(c.buf, utf8Text(s))
		}
	case decoding:
		for c.at(num, protowire.BytesType) {
			*p = append(*p, c.text())
			c.next()
		}
	case printing:
		if len(*p) > 0 {
			c.out.list(name, len(*p), func(i int, out *printer) { out.quote((*p)[i]) })
		}
	case parsing:
		if c.given(num, name) {
			c.items(func() { *p = append(*p, c.readText()) })
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: "string", Label: repeated, JSON: KindText})
	}
}

// Ints visits a list of integers, packed.
func Ints[T Integer](c *Codec, num int, name string, p *[]T) {
	switch c.mode {
	case encoding:
		if len(*p) == 0 {
			return
		}
		size := 0
		for _, v := range *p {
			size += protowire.SizeVarint(uint64(v))
		}
		c.tag(num, protowire.BytesType)
		c.varint(uint64(size))
		for _, v := range *p {
			c.varint(uint64(v))
		}
	case decoding:
		if c.at(num, protowire.BytesType) {
			decodePacked(c, num, p)
		}
	case printing:
		if len(*p) > 0 {
			c.out.list(name, len(*p), func(i int, out *printer) { out.plain(digits((*p)[i])) })
		}
	case parsing:
		if c.given(num, name) {
			c.items(func() { *p = append(*p, readInt[T](c)) })
			c.advance()
		}
	case describing:
		f := integer[T](num, name)
		f.Label = repeated
		c.schema.add(f)
	}
}

func decodePacked[T Integer](c *Codec, num int, p *[]T) {
	for b := c.bytes; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			c.fail(protowire.ParseError(n))
			return
		}
		*p = append(*p, narrow[T](c, num, v))
		b = b[n:]
	}
	c.next()
}

// message encodes one length-prefixed message. The length is written as one
// byte and moved apart only when the message turns out to be long.
func (c *Codec) message(num int, m Message) {
	c.tag(num, protowire.BytesType)
	at := len(c.buf)
	c.buf = append(c.buf, 0)
	m.Fields(c)
	size := len(c.buf) - at - 1
	if extra := protowire.SizeVarint(uint64(size)) - 1; extra > 0 {
		c.buf = append(c.buf, make([]byte, extra)...)
		copy(c.buf[at+1+extra:], c.buf[at+1:at+1+size])
	}
	protowire.AppendVarint(c.buf[:at], uint64(size))
}

func tagLen(num int) int { return protowire.SizeTag(protowire.Number(num)) }

// descend decodes the waiting bytes into m and goes on behind them.
func (c *Codec) descend(m Message) {
	if c.depth >= maxDepth {
		c.fail(errTooDeep)
		return
	}
	rest := c.buf
	c.depth++
	if c.decode(c.bytes, m) != nil {
		return
	}
	c.depth--
	c.buf = rest
	c.next()
}

func isZero(m Message) bool { return len(Marshal(m)) == 0 }
