package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// FromJSON reads b, one JSON object as ToJSON writes it, into m, which should be zero. Fields may
// come in any order; null is a field that is not there, but of a user value, which stays as it is
// written. It fails on what is no JSON or no UTF-8, on a name that no field has or that comes twice,
// and on a value that its field cannot have. User values alias b.
func FromJSON(b []byte, m Message) error {
	in := &parser{src: b, dec: newDecoder(b)}
	c := Codec{mode: parsing, in: in}
	c.object(m)
	if c.err == nil {
		c.end()
	}
	return c.err
}

// newDecoder reads b. A user value may have a name twice; of fields it is noticed here.
func newDecoder(b []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(b), jsontext.AllowDuplicateNames(true))
}

// parser is where the reading of a JSON text has come to.
type parser struct {
	src []byte
	dec *jsontext.Decoder
	at  member
}

// member is the field of an object that waits for its place, and what is known of its object.
type member struct {
	start  int64  // of the object's first byte behind its brace
	name   string // of the waiting field
	is     bool   // there is one
	seen   uint64 // numbers of the fields that were read, as bits
	tagged int    // how often the field "type" of a OneOf was passed; -1: the object is none
}

// object reads one object into m.
func (c *Codec) object(m Message) {
	if !c.begin('{', "object") {
		return
	}
	if c.depth++; c.depth > maxDepth {
		c.fail(errTooDeep)
		return
	}
	outer := c.in.at
	c.in.at = member{start: c.in.dec.InputOffset(), tagged: -1}
	c.advance()
	c.members(m)
	c.in.at = outer
	c.depth--
}

// members reads what is left of an object into m.
func (c *Codec) members(m Message) {
	for c.in.at.is && c.err == nil {
		before := c.in.dec.InputOffset()
		m.Fields(c)
		if c.err == nil && c.in.at.is && c.in.dec.InputOffset() == before {
			c.fail(fmt.Errorf("%T has no field %.80q", m, c.in.at.name))
		}
	}
}

// advance reads the name of an object's next field, or its end.
func (c *Codec) advance() {
	at := &c.in.at
	at.is = false
	t := c.token()
	if c.err != nil || t.Kind() == '}' {
		return
	}
	at.name, at.is = t.String(), true
	if at.tagged >= 0 && at.name == typeName {
		if at.tagged++; at.tagged > 1 {
			c.fail(fmt.Errorf("%q comes twice", typeName))
			return
		}
		c.readRaw()
		c.advance()
	}
}

// has reports whether the waiting field is that of the number and name.
func (c *Codec) has(num int, name string) bool {
	at := &c.in.at
	if !at.is || at.name != name || c.err != nil {
		return false
	}
	if at.seen&(1<<num) != 0 {
		c.fail(fmt.Errorf("%q comes twice", name))
		return false
	}
	at.seen |= 1 << num
	return true
}

// given reports whether the waiting field is that of the number and name, and is not null; null is passed.
func (c *Codec) given(num int, name string) bool {
	if !c.has(num, name) {
		return false
	}
	if c.in.dec.PeekKind() == 'n' {
		c.token()
		c.advance()
		return false
	}
	return true
}

// token reads one token.
func (c *Codec) token() jsontext.Token {
	t, err := c.in.dec.ReadToken()
	if err != nil {
		c.fail(err)
	}
	return t
}

// readRaw reads one value, as it is written.
func (c *Codec) readRaw() json.RawMessage {
	v, err := c.in.dec.ReadValue()
	if err != nil {
		c.fail(err)
		return nil
	}
	end := c.in.dec.InputOffset()
	start := end - int64(len(v))
	return c.in.src[start:end:end]
}

// end is the end of the whole text.
func (c *Codec) end() {
	if rest := bytes.TrimLeft(c.in.src[c.in.dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		c.fail(fmt.Errorf("%d bytes stand behind the object", len(rest)))
	}
}

// begin reads the opening of an object or list.
func (c *Codec) begin(kind jsontext.Kind, want string) bool {
	if got := c.in.dec.PeekKind(); got != kind && got != 0 {
		c.fail(fmt.Errorf("%.80q is no %s", c.in.at.name, want))
		return false
	}
	c.token()
	return c.err == nil
}

// items reads a list of values.
func (c *Codec) items(item func()) {
	if !c.begin('[', "list") {
		return
	}
	for c.err == nil && c.in.dec.PeekKind() != ']' {
		item()
	}
	c.token()
}

// readText reads a string.
func (c *Codec) readText() string {
	t := c.token()
	if c.err == nil && t.Kind() != '"' {
		c.fail(fmt.Errorf("%.80q is no text", c.in.at.name))
	}
	if c.err != nil {
		return ""
	}
	return t.String()
}

// readBool reads true or false.
func (c *Codec) readBool() bool {
	t := c.token()
	if c.err == nil && t.Kind() != 't' && t.Kind() != 'f' {
		c.fail(fmt.Errorf("%.80q is neither true nor false", c.in.at.name))
	}
	return c.err == nil && t.Kind() == 't'
}

// readBytes reads bytes in base64url without padding.
func (c *Codec) readBytes() []byte {
	s := c.readText()
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		c.fail(fmt.Errorf("%.80q is no base64url: %w", c.in.at.name, err))
	}
	return b
}

// readInt reads a whole number that fits T.
func readInt[T Integer](c *Codec) T {
	t := c.token()
	if c.err == nil && t.Kind() != '0' {
		c.fail(fmt.Errorf("%.80q is no number", c.in.at.name))
	}
	if c.err != nil {
		return 0
	}
	s := t.String()
	var out T
	var back string
	if signed[T]() {
		v, _ := strconv.ParseInt(s, 10, 64) // compared below
		out, back = T(v), strconv.FormatInt(int64(T(v)), 10)
	} else {
		v, _ := strconv.ParseUint(s, 10, 64) // compared below
		out, back = T(v), strconv.FormatUint(uint64(T(v)), 10)
	}
	if back != s {
		c.fail(fmt.Errorf("%.80q is %.40s: want a whole number in its range", c.in.at.name, s))
	}
	return out
}

// parseOneOf reads an object whose type says which member it is.
func parseOneOf[M Message](c *Codec, p *M, name func(int) string, create func(int) (M, bool), numbers []int) {
	typ := c.readType()
	if c.err != nil {
		return
	}
	for _, n := range numbers {
		if name(n) == typ {
			m, _ := create(n)
			*p = m
			c.members(m)
			return
		}
	}
	c.fail(fmt.Errorf("unknown type %.80q", typ))
}

// readType is the type of the object whose first field waits. From here on that name is passed.
func (c *Codec) readType() string {
	at := &c.in.at
	at.tagged = 0
	if at.name == typeName { // as ToJSON writes it
		at.tagged = 1
		typ := c.readText()
		c.advance()
		return typ
	}
	ahead := newDecoder(c.in.src[at.start-1:])
	for _, err := ahead.ReadToken(); err == nil; {
		var t jsontext.Token
		if t, err = ahead.ReadToken(); err != nil || t.Kind() != '"' {
			break
		}
		if t.String() != typeName {
			err = ahead.SkipValue()
			continue
		}
		if t, err = ahead.ReadToken(); err == nil && t.Kind() == '"' {
			return t.String()
		}
		break
	}
	c.fail(fmt.Errorf("an object has no %q", typeName))
	return ""
}
