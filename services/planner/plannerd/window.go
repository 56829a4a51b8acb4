package plannerd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// WindowError is a dedupe window that is too long for what `commands` keeps: a
// command could be read again when the ledger cannot be sure of it any more.
type WindowError struct {
	Topic     string        // commands
	Window    time.Duration // Config.Partition.Window, the flag --dedupe-window
	Retention time.Duration // of the topic
}

// Error names the setting, both values and what to change.
func (e *WindowError) Error() string {
	return fmt.Sprintf("the planner's dedupe window (--dedupe-window) is %s, more than half of the %s that topic %s keeps its records (retention.ms %d): "+
		"set its retention.ms to at least %d, or the window to at most %s",
		e.Window, e.Retention, e.Topic, e.Retention.Milliseconds(), (2 * e.Window).Milliseconds(), e.Retention/2)
}

// checkWindow refuses a dedupe window that is longer than half of the retention
// of commands, where the cluster has one: their owner keeps them for two windows. A cluster that keeps its settings to itself is believed.
func checkWindow(ctx context.Context, cl *kgo.Client, set *topics.Set, window time.Duration, l *slog.Logger) error {
	text, err := topicSetting(ctx, cl, set.Commands(), "retention.ms")
	if forbidden(err) {
		l.Warn("the dedupe window is not checked: it must be at most half of the retention of the commands topic",
			"topic", set.Commands(), "window", window, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("retention.ms of topic %s: %w", set.Commands(), err)
	}
	// In milliseconds: a retention may be longer than a Duration can say.
	if ms < 0 || window.Milliseconds() <= ms/2 {
		return nil
	}
	return &WindowError{Topic: set.Commands(), Window: window, Retention: time.Duration(ms) * time.Millisecond}
}

// warnOfRetention says where the cluster deletes records by time that only their
// partition's owner may delete: what waits for longer is lost, unread.
func warnOfRetention(ctx context.Context, cl *kgo.Client, set *topics.Set, l *slog.Logger) error {
	for _, topic := range []string{set.Commands(), set.Inbox(), set.Journal()} {
		for _, setting := range []string{"retention.ms", "retention.bytes"} {
			value, err := topicSetting(ctx, cl, topic, setting)
			switch {
			case forbidden(err):
				l.Warn("whether the cluster deletes records that were not read is not known", "topic", topic, "setting", setting, "want", "-1", "error", err)
			case err != nil:
				return err
			case value != "-1":
				l.Warn("the cluster deletes records of a log that only its owner may delete: what is not read in time is lost", "topic", topic, "setting", setting, "have", value, "want", "-1")
			}
		}
	}
	return nil
}

// topicSetting is the value of a topic's setting that is in effect.
func topicSetting(ctx context.Context, cl *kgo.Client, topic, setting string) (string, error) {
	list, err := kadm.NewClient(cl).DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", fmt.Errorf("asking for the settings of topic %s: %w", topic, err)
	}
	rc, err := list.On(topic, nil)
	if err == nil {
		err = rc.Err
	}
	if err != nil {
		return "", fmt.Errorf("asking for the settings of topic %s: %w", topic, err)
	}
	for _, c := range rc.Configs {
		if c.Key == setting {
			return c.MaybeValue(), nil
		}
	}
	return "", fmt.Errorf("the cluster does not tell %s of topic %s", setting, topic)
}

// forbidden reports whether the cluster refused to tell.
func forbidden(err error) bool {
	_, ok := errors.AsType[*kadm.AuthError](err)
	return ok
}
