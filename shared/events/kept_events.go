package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// KeysKept changes what the attempts of a runnable keep for the next ones: what is deleted goes first.
type KeysKept struct {
	Runnable RunnableID
	Deleted  []string
	Put      []KeptValue // no key comes twice
}

// KeptValue is a key that an attempt keeps, with its value.
type KeptValue struct {
	Key   string
	Value json.RawMessage
}

func (*KeysKept) number() int { return 119 }

// Fields implements wire.Message.
func (e *KeysKept) Fields(c *wire.Codec) {
	wire.Int(c, 1, "runnable", &e.Runnable)
	c.Strings(2, "deleted", &e.Deleted)
	wire.Repeated(c, 3, "put", &e.Put)
}

// Fields implements wire.Message.
func (v *KeptValue) Fields(c *wire.Codec) {
	wire.String(c, 1, "key", &v.Key)
	c.JSON(2, "value", &v.Value)
}

func (e *KeysKept) weight() int {
	n := leastEvent
	for _, k := range e.Deleted {
		n += leastEvent + len(k)
	}
	for i := range e.Put {
		n += leastEvent + len(e.Put[i].Key) + len(e.Put[i].Value)
	}
	return n
}
