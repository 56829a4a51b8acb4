package plannerd

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/shared/events"
)

func newBreakerCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "heddle_planner_breakers_total", Help: "What happened to circuit breakers.",
	}, []string{"event"})
}

// turns are what the metric and the log call a change to a state.
var turns = [...]struct{ event, words string }{
	events.BreakerClosed:   {"closed", "closed"},
	events.BreakerOpen:     {"opened", "opened"},
	events.BreakerHalfOpen: {"half_opened", "half opened"},
}

// turned counts and logs a breaker whose state has changed. Its name is in the log alone: nothing
// bounds how many there are.
func (o *observer) turned(line int, rec *events.Record, e *events.BreakerTurned) {
	what := turns[min(e.To, events.BreakerHalfOpen)]
	o.breakers.WithLabelValues(what.event).Inc()
	level := observations[line].level
	if !o.logger.Enabled(context.Background(), level) {
		return
	}
	leftOut, ok := o.pace[line].allows(rec.Time)
	if !ok {
		return
	}
	_, name, _ := events.ParseKeyID(rec.Workflow) // a breaker has an id of that form
	attrs := []slog.Attr{slog.String("breaker", name), slog.String("record", rec.Position.String()), slog.Uint64("failures", e.Failures)}
	if e.Until != 0 {
		attrs = append(attrs, slog.String("until", events.Stamp(e.Until).String()))
	}
	o.logger.LogAttrs(context.Background(), level, "breaker "+what.words, append(attrs, troubleAttrs(e, leftOut)...)...)
}
