package kafka

import (
	"context"
	"errors"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Reading is how a tail fares. What keeps it from reading is said once, and its
// end once.
type Reading struct {
	What   string // that is read, as it is said
	Logger *slog.Logger

	trouble string // as it was said; empty: none
}

// Failed deals with what a tail could not fetch, and reports whether there is such: a
// caller who polls again does so after a pause. A topic that was deleted, and
// perhaps made anew, is read from where the tail begins: kgo takes no other topic
// of the same name by itself. Those topics are returned.
func (r *Reading) Failed(cl *kgo.Client, fetches kgo.Fetches) (remade []string, failed bool) {
	seen := map[string]bool{}
	fetches.EachError(func(topic string, p int32, err error) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return
		}
		failed = true
		if IsRemade(err) && !seen[topic] {
			seen[topic] = true
			remade = append(remade, topic)
		}
		if r.trouble != err.Error() {
			r.trouble = err.Error()
			r.Logger.Warn("a topic cannot be read; it is tried again", "reading", r.What, "topic", topic, "partition", p, "error", err)
		}
	})
	if len(remade) > 0 {
		cl.PurgeTopicsFromConsuming(remade...)
		cl.AddConsumeTopics(remade...)
	}
	if !failed && r.trouble != "" && fetches.NumRecords() > 0 {
		r.trouble = ""
		r.Logger.Info("it can be read again", "reading", r.What)
	}
	return remade, failed
}
