package kafkaclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/dev/devtest"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
)

// A program that acts on what becomes of workflows follows the topic heddle.status with any Kafka
// client. A summary says what a workflow has come to, and may stand for several changes in a row.
func Example_status() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d := devtest.Running()
	c, err := kafkaclient.New(ctx, kafkaclient.Options{Brokers: d.Brokers})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	const double = `{"name": "double", "components": {"twice": {"expr": "input * 2"}}, "options": {"close": "on_idle"}}`
	if _, err := c.Start(ctx, double, 21, client.StartOptions{ID: "hooked"}); err != nil {
		log.Fatal(err)
	}

	consumer, err := kgo.NewClient(kgo.SeedBrokers(d.Brokers...), kgo.ConsumeTopics(d.Prefix+"status"), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.Close()
	for over := false; !over && ctx.Err() == nil; {
		consumer.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			var w client.Workflow
			switch {
			case strings.HasPrefix(string(r.Key), "notice:"): // a completion notice
			case len(r.Value) == 0: // the workflow is deleted
			case json.Unmarshal(r.Value, &w) != nil:
				log.Fatalf("no summary: %s", r.Value)
			case w.ID == "hooked" && w.Status == "completed":
				fmt.Println(w.ID, w.Status)
				over = true
			}
		})
	}
	// Output: hooked completed
}
