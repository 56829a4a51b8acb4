package plannerd

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// noticeObserver counts, measures and logs what becomes of completion notices with a receiver.
type noticeObserver struct {
	logger  *slog.Logger
	count   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	pace    map[string]*pace // by what became of one
}

// noticeLevels are the levels of the lines, by what became of a notice.
var noticeLevels = map[string]slog.Level{
	machine.NoticeDelivered: slog.LevelDebug,
	machine.NoticeRetried:   slog.LevelDebug,
	machine.NoticeGivenUp:   slog.LevelInfo,
}

func newNoticeObserver(l *slog.Logger) *noticeObserver {
	o := &noticeObserver{
		logger:  l,
		count:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "heddle_planner_notices_total", Help: "What became of calls of the receivers of completion notices."}, []string{"event"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "heddle_planner_notice_seconds", Help: "From a completion notice to the end of the call that was its last.", Buckets: durations}, []string{"event"}),
		pace:    map[string]*pace{},
	}
	for what := range noticeLevels { // order: none shows
		o.pace[what] = &pace{}
	}
	return o
}

func (o *noticeObserver) vectors() []prometheus.Collector {
	return []prometheus.Collector{o.count, o.seconds}
}

func (o *noticeObserver) observe(rec *events.Record, t *machine.Told) {
	o.count.WithLabelValues(t.Notice).Inc()
	if t.Notice != machine.NoticeRetried && t.Since > 0 {
		o.seconds.WithLabelValues(t.Notice).Observe(sinceThen(rec, t.Since).Seconds())
	}
	if level := noticeLevels[t.Notice]; o.logger.Enabled(context.Background(), level) {
		o.log(level, rec, t)
	}
}

func (o *noticeObserver) log(level slog.Level, rec *events.Record, t *machine.Told) {
	var leftOut int64
	if level > slog.LevelDebug {
		var ok bool
		if leftOut, ok = o.pace[t.Notice].allows(rec.Time); !ok {
			return
		}
	}
	workflow, run, _ := events.ParseNotices(rec.Workflow) // what has made a call has such an id
	attrs := []slog.Attr{
		slog.String("workflow", workflow), slog.String("record", rec.Position.String()), slog.String("run", run.String()),
		slog.Uint64("drain", uint64(t.Runnable)), slog.Uint64("attempt", uint64(t.Attempt)),
	}
	if t.Since > 0 {
		attrs = append(attrs, slog.Duration("took", sinceThen(rec, t.Since)))
	}
	o.logger.LogAttrs(context.Background(), level, "notice "+wordsOf(t.Notice), append(attrs, troubleAttrs(t.Event, leftOut)...)...)
}
