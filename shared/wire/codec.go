package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message describes its fields to a Codec, in ascending field numbers.
type Message interface {
	Fields(c *Codec)
}

type mode uint8

const (
	encoding mode = iota
	decoding
	printing
	parsing
	describing
)

// Codec visits the fields of one message in one of its modes. Field methods
// take the field's number, its name for people and a pointer to its place.
type Codec struct {
	mode mode
	buf  []byte // encoding: the output; decoding: what is left of the input

	// decoding: the field that was read last and waits for its place.
	num   protowire.Number
	typ   protowire.Type
	value uint64
	bytes []byte
	err   error
	depth int
	names *names

	in     *parser
	out    *printer
	schema *schemaBuilder
}

const maxDepth = 32

// codecs are reused: one escapes to the heap with every message it visits.
var codecs = sync.Pool{New: func() any { return new(encoder) }}

// encoder is a Codec with a buffer of its own for messages of unknown size.
type encoder struct {
	codec   Codec
	scratch []byte
	names   names
}

const maxScratch = 64 << 10 // bytes of a buffer that is kept for reuse

// Append encodes m behind b.
func Append(b []byte, m Message) []byte {
	e := codecs.Get().(*encoder)
	e.codec = Codec{mode: encoding, buf: b}
	m.Fields(&e.codec)
	b = e.codec.buf
	e.codec.buf = nil
	codecs.Put(e)
	return b
}

// Marshal encodes m into a new slice of just its size.
func Marshal(m Message) []byte {
	e := codecs.Get().(*encoder)
	e.codec = Codec{mode: encoding, buf: e.scratch[:0]}
	m.Fields(&e.codec)
	b := append([]byte(nil), e.codec.buf...)
	if cap(e.codec.buf) <= maxScratch {
		e.scratch = e.codec.buf
	}
	e.codec.buf = nil
	codecs.Put(e)
	return b
}

// Unmarshal decodes b into m, which should be zero. It fails on malformed
// bytes, on wrong wire types and on unknown fields.
func Unmarshal(b []byte, m Message) error {
	e := codecs.Get().(*encoder)
	e.codec = Codec{mode: decoding, names: &e.names}
	err := e.codec.decode(b, m)
	e.codec.buf, e.codec.bytes, e.codec.err = nil, nil, nil
	codecs.Put(e)
	return err
}

func (c *Codec) decode(b []byte, m Message) error {
	c.buf = b
	c.next()
	for c.num != 0 && c.err == nil {
		before := len(c.buf)
		num := c.num
		m.Fields(c)
		if c.err == nil && c.num == num && len(c.buf) == before {
			c.err = fmt.Errorf("unknown field %d in %T", num, m)
		}
	}
	return c.err
}

// next reads one field from the input, or sets num to 0 at its end.
func (c *Codec) next() {
	c.num = 0
	if len(c.buf) == 0 || c.err != nil {
		return
	}
	if c.small() {
		return
	}
	num, typ, n := protowire.ConsumeTag(c.buf)
	if n < 0 {
		c.fail(protowire.ParseError(n))
		return
	}
	c.buf = c.buf[n:]
	switch typ {
	case protowire.VarintType:
		c.value, n = protowire.ConsumeVarint(c.buf)
	case protowire.BytesType:
		c.bytes, n = protowire.ConsumeBytes(c.buf)
	case protowire.Fixed64Type:
		c.value, n = protowire.ConsumeFixed64(c.buf)
	default:
		c.fail(fmt.Errorf("field %d has wire type %d, which no message uses", num, typ))
		return
	}
	if n < 0 {
		c.fail(protowire.ParseError(n))
		return
	}
	c.buf = c.buf[n:]
	c.num, c.typ = num, typ
}

// small reads a field whose number, and value or length, take a byte each: most do.
func (c *Codec) small() bool {
	if len(c.buf) < 2 || c.buf[0] >= 0x80 || c.buf[0] < 1<<3 || c.buf[1] >= 0x80 {
		return false
	}
	size := 2
	switch protowire.Type(c.buf[0] & 7) {
	case protowire.VarintType:
		c.value = uint64(c.buf[1])
	case protowire.BytesType:
		if size += int(c.buf[1]); size > len(c.buf) {
			return false
		}
		c.bytes = c.buf[2:size]
	default:
		return false
	}
	c.num, c.typ = protowire.Number(c.buf[0]>>3), protowire.Type(c.buf[0]&7)
	c.buf = c.buf[size:]
	return true
}

// tag writes what a field begins with.
func (c *Codec) tag(num int, typ protowire.Type) {
	if num < 16 {
		c.buf = append(c.buf, byte(num<<3)|byte(typ))
		return
	}
	c.buf = protowire.AppendTag(c.buf, protowire.Number(num), typ)
}

func (c *Codec) varint(v uint64) {
	if v < 0x80 {
		c.buf = append(c.buf, byte(v))
		return
	}
	c.buf = protowire.AppendVarint(c.buf, v)
}

// Fail makes the decoding fail: for a message whose fields contradict each other.
func (c *Codec) Fail(err error) { c.fail(err) }

// Encoding reports whether the fields are being written.
func (c *Codec) Encoding() bool { return c.mode == encoding }

// Decoding reports whether the fields are being filled.
func (c *Codec) Decoding() bool { return c.mode == decoding || c.mode == parsing }

func (c *Codec) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.num = 0
	if c.in != nil {
		c.in.at.is = false
	}
}

// at reports whether the waiting input field is num, of the wanted wire type.
func (c *Codec) at(num int, typ protowire.Type) bool {
	if c.num != protowire.Number(num) || c.err != nil {
		return false
	}
	if c.typ != typ {
		c.fail(fmt.Errorf("field %d has wire type %d, want %d", num, c.typ, typ))
		return false
	}
	return true
}

// Integer is any integer type: they all travel as varints.
type Integer interface {
	~int | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// signed reports whether T can be negative. A negative number travels as proto3's
// int64 does, in ten bytes: for the rare "none" of -1.
func signed[T Integer]() bool {
	var zero T
	return zero-1 < zero
}

// scalar is the proto3 type of T.
func scalar[T Integer]() string {
	if signed[T]() {
		return "int64"
	}
	return "uint64"
}

// digits is v for people.
func digits[T Integer](v T) string {
	if signed[T]() {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatUint(uint64(v), 10)
}

// narrow converts what was read, which must fit T.
func narrow[T Integer](c *Codec, num int, v uint64) T {
	t := T(v)
	if uint64(t) != v {
		c.fail(fmt.Errorf("field %d: %d is out of range", num, v))
	}
	return t
}

// Int visits an integer: ids, counts, times, kinds.
func Int[T Integer](c *Codec, num int, name string, p *T) {
	switch c.mode {
	case encoding:
		if *p != 0 {
			c.tag(num, protowire.VarintType)
			c.varint(uint64(*p))
		}
	case decoding:
		if c.at(num, protowire.VarintType) {
			*p = narrow[T](c, num, c.value)
			c.next()
		}
	case printing:
		if *p != 0 {
			c.out.raw(name, digits(*p))
		}
	case parsing:
		if c.given(num, name) {
			*p = readInt[T](c)
			c.advance()
		}
	case describing:
		c.schema.add(integer[T](num, name))
	}
}

// Bool visits a boolean.
func (c *Codec) Bool(num int, name string, p *bool) {
	switch c.mode {
	case encoding:
		if *p {
			c.tag(num, protowire.VarintType)
			c.buf = append(c.buf, 1)
		}
	case decoding:
		if c.at(num, protowire.VarintType) {
			*p = c.value != 0
			c.next()
		}
	case printing:
		if *p {
			c.out.raw(name, "true")
		}
	case parsing:
		if c.given(num, name) {
			*p = c.readBool()
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: "bool", JSON: KindBoolean})
	}
}

// utf8Text is s as a proto3 string, which must be UTF-8: what is not, in text
// from outside, is replaced when it is encoded.
func utf8Text(s string) string {
	if utf8.ValidString(s) { // the faster look
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// text is the waiting input field, which must be UTF-8 as every proto3 reader wants it.
func (c *Codec) text() string {
	if !utf8.Valid(c.bytes) {
		c.fail(fmt.Errorf("field %d is not UTF-8", c.num))
		return ""
	}
	return string(c.bytes)
}

// String visits a string.
func String[T ~string](c *Codec, num int, name string, p *T) {
	switch c.mode {
	case encoding:
		if *p != "" {
			c.tag(num, protowire.BytesType)
			c.buf = protowire.AppendString(c.buf, utf8Text(string(*p)))
		}
	case decoding:
		if c.at(num, protowire.BytesType) {
			*p = T(c.text())
			c.next()
		}
	case printing:
		if *p != "" {
			c.out.text(name, string(*p))
		}
	case parsing:
		if c.given(num, name) {
			*p = T(c.readText())
			c.advance()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: "string", JSON: KindText})
	}
}

// Bytes visits opaque bytes; nil and empty are the same.
func (c *Codec) Bytes(num int, name string, p *[]byte) {
	switch {
	case c.mode == printing && len(*p) > 0:
		c.out.base64(name, *p)
	case c.mode == parsing:
		if c.given(num, name) {
			*p = c.readBytes()
			c.advance()
		}
	default:
		c.blob(num, name, p, KindBytes)
	}
}

// JSON visits a user value that travels as the JSON bytes it came as.
func (c *Codec) JSON(num int, name string, p *json.RawMessage) {
	switch {
	case c.mode == printing && len(*p) > 0:
		c.out.json(name, *p)
	case c.mode == parsing:
		if c.has(num, name) {
			*p = c.readRaw()
			c.advance()
		}
	default:
		c.blob(num, name, (*[]byte)(p), KindValue)
	}
}

func (c *Codec) blob(num int, name string, p *[]byte, kind Kind) {
	switch c.mode {
	case encoding:
		if len(*p) > 0 {
			c.tag(num, protowire.BytesType)
			c.buf = protowire.AppendBytes(c.buf, *p)
		}
	case decoding:
		if c.at(num, protowire.BytesType) {
			*p = c.bytes[:len(c.bytes):len(c.bytes)]
			c.next()
		}
	case describing:
		c.schema.add(Field{Number: num, Name: name, Proto: "bytes", JSON: kind})
	case printing, parsing: // an empty one is left out; Bytes and JSON do the others
	}
}
