package scan

import (
	"bytes"
	"encoding/json"
)

// Valid says what json.Valid says, faster where nothing is unusual.
func Valid(text []byte) bool {
	w := walk{text: text}
	return w.value() && w.at == len(text) || json.Valid(text)
}

// Compact returns a copy of a JSON value without white space: what json.Compact
// writes, and its error.
func Compact(text []byte) ([]byte, error) {
	w := walk{text: text}
	if w.value() && w.at == len(text) && !w.loose {
		return append(make([]byte, 0, len(text)), text...), nil
	}
	var b bytes.Buffer
	b.Grow(len(text))
	if err := json.Compact(&b, text); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// MaxDepth is how deep a value may be nested before it is strange.
const MaxDepth = 64

// walk passes over one JSON value by the grammar of RFC 8259.
type walk struct {
	text    []byte
	at      int
	loose   bool   // white space was met
	depth   int    // of lists and objects that are open
	objects uint64 // a bit for each, the innermost lowest: it is an object
}

// value passes over a value; false: it is no JSON, or too deep.
func (w *walk) value() bool {
	for {
		opened, ok := w.begin()
		if !ok {
			return false
		}
		if opened {
			continue
		}
		if done, ok := w.end(); done || !ok {
			return ok
		}
	}
}

// begin passes over a value that holds no other one, or up to the first one that
// it holds: then opened.
func (w *walk) begin() (opened, ok bool) {
	switch c := w.peek(); {
	case c == '"':
		return false, w.quoted()
	case c == '{':
		return w.open(true, '}')
	case c == '[':
		return w.open(false, ']')
	case c == '-' || digit(c):
		return false, w.number()
	case c == 't':
		return false, w.word("true")
	case c == 'f':
		return false, w.word("false")
	case c == 'n':
		return false, w.word("null")
	}
	return false, false
}

func (w *walk) open(object bool, closing byte) (opened, ok bool) {
	w.at++
	if w.peek() == closing {
		w.at++
		return false, true
	}
	if w.depth == MaxDepth {
		return false, false
	}
	w.depth++
	w.objects <<= 1
	if !object {
		return true, true
	}
	w.objects |= 1
	return true, w.name()
}

// end passes over what stands between a value and the next one; done: there is
// none.
func (w *walk) end() (done, ok bool) {
	for w.depth > 0 {
		object := w.objects&1 == 1
		c := w.peek()
		w.at++
		switch {
		case c == ',' && object:
			return false, w.name()
		case c == ',':
			return false, true
		case c == '}' && object, c == ']' && !object:
			w.depth--
			w.objects >>= 1
		default:
			return false, false
		}
	}
	return true, true
}

// name passes over the name of a member and its colon.
func (w *walk) name() bool {
	if w.peek() != '"' || !w.quoted() || w.peek() != ':' {
		return false
	}
	w.at++
	return true
}

// peek passes over white space; 0 at the end of the text.
func (w *walk) peek() byte {
	for w.at < len(w.text) {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\n', '\r':
			w.loose = true
			w.at++
		default:
			return c
		}
	}
	return 0
}

// quoted passes over a string from its quote on.
func (w *walk) quoted() bool {
	for i := w.at + 1; i < len(w.text); i++ {
		switch c := w.text[i]; {
		case c == '"':
			w.at = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			n := escape(w.text[i+1:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return false
}

// escape is the length of what follows a backslash; 0: nothing that may.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) >= 5 && hex(b[1]) && hex(b[2]) && hex(b[3]) && hex(b[4]) {
			return 5
		}
	}
	return 0
}

func hex(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func (w *walk) word(want string) bool {
	rest := w.text[w.at:]
	if len(rest) < len(want) || string(rest[:len(want)]) != want {
		return false
	}
	w.at += len(want)
	return true
}

func (w *walk) number() bool {
	w.take('-')
	if !w.take('0') && !w.digits() {
		return false
	}
	if w.take('.') && !w.digits() {
		return false
	}
	if w.take('e') || w.take('E') {
		if !w.take('+') {
			w.take('-')
		}
		return w.digits()
	}
	return true
}

func (w *walk) take(c byte) bool {
	if w.at < len(w.text) && w.text[w.at] == c {
		w.at++
		return true
	}
	return false
}

// digits passes over one digit or more.
func (w *walk) digits() bool {
	from := w.at
	for w.at < len(w.text) && digit(w.text[w.at]) {
		w.at++
	}
	return w.at > from
}
