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

// optionsOf is what options come of.
type optionsOf struct {
	graph *definition.Graph
	given string // with the workflow, as JSON
}

func (w *workflow) options() options {
	given := w.setup().Options
	o, ok := w.p.options[optionsOf{w.graph(), string(given)}]
	if !ok {
		o = w.laidOver()
		if len(given) <= maxRemembered {
			if len(w.p.options) >= maxGraphs {
				clear(w.p.options)
			}
			w.p.options[optionsOf{w.graph(), string(given)}] = o
		}
	}
	return o
}

func (w *workflow) laidOver() options {
	o := options{Options: w.givenOptions().Over(w.graph().Options), Drain: defaultDrain, SignalTTL: defaultSignalTTL}
	if o.Options.Drain != nil {
		o.Drain = *o.Options.Drain
	}
	o.Retain = o.Retain.Over(w.p.cfg.Retain)
	if o.Options.SignalTTL != nil {
		o.SignalTTL = *o.Options.SignalTTL
	}
	return o
}

func unixMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
