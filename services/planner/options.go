package planner

import (
	"time"

	"github.com/heddle-run/heddle/shared/definition"
)

const (
	defaultDrain     = 60 * time.Second
	defaultSignalTTL = 24 * time.Hour
)

// options are the ones in force: the workflow's over the definition's over the
// service's defaults.
type options struct {
	definition.Options
	Drain     time.Duration
	SignalTTL time.Duration
}

// givenOptions are those that came with the workflow.
func (w *workflow) givenOptions() definition.Options {
	raw := w.setup().Options
	if len(raw) == 0 {
		return definition.Options{}
	}
	o, err := definition.ParseOptions(raw, "options")
	if err != nil {
		panic("accepted options: " + err.Error())
	}
	return o
}

func (w *workflow) options() options {
	if len(w.setup().Options) > 0 {
		return w.laidOver()
	}
	o, ok := w.p.options[w.graph()]
	if !ok {
		o = w.laidOver()
		if len(w.p.options) >= maxGraphs {
			clear(w.p.options)
		}
		w.p.options[w.graph()] = o
	}
	return o
}

func (w *workflow) laidOver() options {
	o := options{Options: w.givenOptions().Over(w.graph().Options), Drain: defaultDrain, SignalTTL: defaultSignalTTL}
	if o.Options.Drain != nil {
		o.Drain = *o.Options.Drain
	}
	if o.Options.SignalTTL != nil {
		o.SignalTTL = *o.Options.SignalTTL
	}
	return o
}

func unixMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
