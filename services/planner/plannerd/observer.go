package plannerd

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// observer counts, measures and logs what the records of the partitions say. It is the
// loop.Observer of all of them.
type observer struct {
	logger *slog.Logger
	spans  *spans // nil: nobody is told of any
	pace   []pace // by the line of observations

	workflows, attempts, breakers   *prometheus.CounterVec
	workflowSeconds, attemptSeconds *prometheus.HistogramVec

	definitions, queues *labelled

	notices *noticeObserver
}

// durations in seconds, from a step that does nothing to a workflow of a week.
var durations = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600}

func newObserver(l *slog.Logger, tracer trace.Tracer) *observer {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label, "event"})
	}
	histogram := func(name, help, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: durations}, []string{label, "event"})
	}
	o := &observer{
		logger: l, spans: newSpans(l, tracer), pace: make([]pace, len(observations)),
		workflows:       counter("heddle_planner_workflows_total", "What happened to workflows, by definition.", "definition"),
		attempts:        counter("heddle_planner_attempts_total", "What happened to attempts, by task queue.", "queue"),
		workflowSeconds: histogram("heddle_planner_workflow_seconds", "From the start of a workflow to what happened to it.", "definition"),
		attemptSeconds:  histogram("heddle_planner_attempt_seconds", "From the dispatch of an attempt to the record of its end.", "queue"),
	}
	o.breakers = newBreakerCounter()
	o.definitions, o.queues, o.notices = newLabelled(), newLabelled(), newNoticeObserver(l)
	return o
}

// at are the measures of a line for a value of the label.
func (o *observer) at(values *labelled, line int, value string) *measures {
	b, value := values.of(value)
	m := b[line].Load()
	if m == nil {
		m = o.measuresOf(line, value)
		b[line].Store(m)
	}
	return m
}

func (o *observer) measuresOf(line int, value string) *measures {
	ob := &observations[line]
	counts, seconds := o.workflows, o.workflowSeconds
	if ob.of == ofAttempt {
		counts, seconds = o.attempts, o.attemptSeconds
	}
	m := &measures{count: counts.WithLabelValues(value, ob.name)}
	if ob.ends {
		m.seconds = seconds.WithLabelValues(value, ob.name)
	}
	return m
}

// Describe implements prometheus.Collector.
func (o *observer) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range o.vectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (o *observer) Collect(ch chan<- prometheus.Metric) {
	for _, c := range o.vectors() {
		c.Collect(ch)
	}
}

func (o *observer) vectors() []prometheus.Collector {
	return append([]prometheus.Collector{o.workflows, o.attempts, o.breakers, o.workflowSeconds, o.attemptSeconds}, o.notices.vectors()...)
}

// externalQueue stands for no queue: what is done outside and completed by its token.
const externalQueue = "external"

// Detail implements loop.Observer.
func (o *observer) Detail() bool {
	return o.spans != nil || o.logger.Enabled(context.Background(), slog.LevelDebug)
}

// Observe implements loop.Observer.
func (o *observer) Observe(rec *events.Record, told []machine.Told) {
	for i := range told {
		t := &told[i]
		if t.Notice != "" {
			o.notices.observe(rec, t)
			continue
		}
		line := byNumber[events.Number(t.Event)]
		if line < 0 {
			continue
		}
		if observations[line].of == ofBreaker {
			o.turned(line, rec, t.Event.(*events.BreakerTurned))
			continue
		}
		o.measure(line, rec, t)
		if level := observations[line].level; o.logger.Enabled(context.Background(), level) {
			o.log(line, level, rec, t)
		}
		if o.spans != nil {
			o.spans.note(line, rec, t)
		}
	}
}

func (o *observer) measure(line int, rec *events.Record, t *machine.Told) {
	values, value, since := o.queues, t.Queue, t.Since
	if observations[line].of == ofWorkflow {
		values, value, since = o.definitions, t.Definition, t.Created
	} else if value == "" {
		value = externalQueue
	}
	m := o.at(values, line, value)
	m.count.Inc()
	if t.Uncertain {
		_, label := values.of(value)
		o.attempts.WithLabelValues(label, "uncertain").Inc()
	}
	if m.seconds != nil && since > 0 {
		m.seconds.Observe(sinceThen(rec, since).Seconds())
	}
}

// sinceThen is the time from a moment (Unix ms) to a record.
func sinceThen(rec *events.Record, ms int64) time.Duration {
	return time.Duration(max(0, rec.Time-ms)) * time.Millisecond
}
