package planner

import (
	"time"

	"github.com/heddle-run/heddle/shared/definition"
)

const defaultDrain = 60 * time.Second

// options are the ones in force: the workflow's over the definition's over the
// service's defaults.
type options struct {
	definition.Options
	Drain time.Duration
}

// givenOptions are those that came with the workflow.
func (t *turn) givenOptions() definition.Options {
	raw := t.setup().Options
	if len(raw) == 0 {
		return definition.Options{}
	}
	o, err := definition.ParseOptions(raw, "options")
	if err != nil {
		panic("accepted options: " + err.Error())
	}
	return o
}

func (t *turn) options() options {
	if len(t.setup().Options) > 0 {
		return t.laidOver()
	}
	o, ok := t.p.options[t.graph()]
	if !ok {
		o = t.laidOver()
		if len(t.p.options) >= maxGraphs {
			clear(t.p.options)
		}
		t.p.options[t.graph()] = o
	}
	return o
}

func (t *turn) laidOver() options {
	o := options{Options: t.givenOptions().Over(t.graph().Options), Drain: defaultDrain}
	if o.Options.Drain != nil {
		o.Drain = *o.Options.Drain
	}
	return o
}

func unixMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
