package events

import (
	"encoding/json"

	"github.com/heddle-run/heddle/shared/wire"
)

// PoliciesSet replaces the rules that were given with the workflow. They hold for runnables
// that are made from then on.
type PoliciesSet struct {
	Policies json.RawMessage
	By       By
}

func (*PoliciesSet) number() int { return 86 }

// Fields implements wire.Message.
func (e *PoliciesSet) Fields(c *wire.Codec) {
	c.JSON(1, "policies", &e.Policies)
	wire.Nested(c, 2, "by", &e.By)
}

// RetentionArmed says until when a workflow that has come to rest is kept. It is deleted
// then, unless it has left that state.
type RetentionArmed struct {
	Until int64 // Unix ms
}

func (*RetentionArmed) number() int { return 87 }

// Fields implements wire.Message.
func (e *RetentionArmed) Fields(c *wire.Codec) {
	wire.Int(c, 1, "until", &e.Until)
}
