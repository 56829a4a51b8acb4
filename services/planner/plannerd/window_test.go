package plannerd_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/shared/events"
)

// begin starts a planner with a dedupe window, waits until it is ready or
// refuses, and stops it.
func begin(t *testing.T, cfg kafka.Config, window time.Duration, l *slog.Logger) error {
	t.Helper()
	p, err := plannerd.New(plannerd.Config{
		Kafka: cfg, DataDir: "p", FS: vfs.NewMem(), Instance: "p", TokenKey: events.Key("0123456789abcdef"), Logger: l,
		Partition: loop.Settings{Window: window},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	select {
	case <-p.Ready():
		stop()
		return <-ended
	case err := <-ended:
		if err == nil {
			t.Fatal("the planner ended before it was ready")
		}
		return err
	}
}

func retain(t *testing.T, cl *kgo.Client, topic string, ms int64) {
	t.Helper()
	value := strconv.FormatInt(ms, 10)
	alter := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &value}}
	if _, err := kadm.NewClient(cl).AlterTopicConfigs(t.Context(), alter, topic); err != nil {
		t.Fatal(err)
	}
}

func TestAWindowOfMoreThanHalfOfTheRetentionIsRefused(t *testing.T) {
	c := brokertest.Start(t, topics.Options{Partitions: 1})
	admin := c.Admin(t)
	hour := time.Hour.Milliseconds()
	for _, k := range []struct {
		name      string
		retention int64
		window    time.Duration
		refused   bool
	}{
		{"the default and 48 hours", 48 * hour, 0, false},
		{"the default and less", 48*hour - 2, 0, true},
		{"half an hour of an hour", hour, 30 * time.Minute, false},
		{"more", hour, 31 * time.Minute, true},
		{"kept for ever", -1, 1000 * time.Hour, false},
	} {
		t.Run(k.name, func(t *testing.T) {
			retain(t, admin, c.Topics.Commands(), k.retention)
			err := begin(t, c.Config, k.window, nil)
			var refused *plannerd.WindowError
			if errors.As(err, &refused) != k.refused || err != nil && refused == nil {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestAWindowIsRefusedWithTheSettingBothValuesAndTheFix(t *testing.T) {
	err := error(&plannerd.WindowError{Topic: "x.commands", Window: 24 * time.Hour, Retention: 10 * time.Hour})
	for _, want := range []string{
		"dedupe window (--dedupe-window) is 24h0m0s", "x.commands", "retention.ms 36000000", "at least 172800000", "at most 5h0m0s",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

// A cluster may let its users see topics and not their settings.
func TestWhereSettingsMayNotBeReadThePlannerWarnsAndRuns(t *testing.T) {
	fake, c := brokertest.StartFake(t, topics.Options{Partitions: 1})
	fake.ControlKey(kmsg.DescribeConfigs.Int16(), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		return refuseSettings(kreq.(*kmsg.DescribeConfigsRequest)), nil, true
	})
	var log bytes.Buffer
	if err := begin(t, c.Config, 1000*time.Hour, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatalf("the planner ended with %v\n%s", err, &log)
	}
	for _, want := range []string{"the dedupe window is not checked", "window=1000h0m0s", "min.insync.replicas is not known"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

func refuseSettings(req *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for _, r := range req.Resources {
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		rr.ErrorCode = kerr.TopicAuthorizationFailed.Code
		resp.Resources = append(resp.Resources, rr)
	}
	return resp
}
