package wire

import "google.golang.org/protobuf/encoding/protowire"

// names are strings that were decoded lately, each in the one place that is for
// it: a program that decodes the same few names again and again shares their memory.
type names [64]string

// maxName bounds the bytes of a name that is remembered.
const maxName = 128

// place is where a name is remembered; b is not empty.
func (n *names) place(b []byte) *string {
	last := len(b) - 1
	mix := uint(len(b)) + 31*uint(b[last]) + 7*uint(b[last/2]) + 3*uint(b[0])
	return &n[mix%uint(len(n))]
}

// Name visits a string that is one of few: the name of a task, a component or
// an executor. It travels as a String does.
func Name[T ~string](c *Codec, num int, name string, p *T) {
	if c.mode != decoding {
		String(c, num, name, p)
		return
	}
	if c.at(num, protowire.BytesType) {
		*p = T(c.name())
		c.next()
	}
}

// name is the text of the waiting input field, which may have been read before.
func (c *Codec) name() string {
	if len(c.bytes) == 0 || len(c.bytes) > maxName {
		return c.text()
	}
	known := c.names.place(c.bytes)
	if *known != string(c.bytes) {
		*known = c.text()
	}
	return *known
}
