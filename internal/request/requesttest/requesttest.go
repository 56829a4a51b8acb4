// Package requesttest stands on the far side of package request in tests: a small
// consumer of commands and queries that answers as a script says. It is no
// planner: it keeps no journal and decides nothing of its own.
package requesttest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// Request is one record that asks: a command or a query.
type Request struct {
	Command *events.Command
	Refused *events.CommandError // a command that could not be parsed
	Query   *events.Query
	Record  *kgo.Record
}

// Script answers a request; the replies' ids are filled in where they are empty.
type Script func(Request) []events.Reply

// Echo decides every command, ends its work at once if that is waited for, and
// answers each query with its kind.
func Echo(q Request) []events.Reply {
	switch {
	case q.Query != nil:
		return []events.Reply{Answer(fmt.Sprintf(`{"kind":%q}`, q.Query.Kind))}
	case q.Refused != nil:
		return nil
	}
	var replies []events.Reply
	if !q.Command.ReplyTo.End {
		replies = append(replies, events.Reply{Kind: events.ReplyDecided, Result: events.ResultDone})
	}
	if q.Command.ReplyTo.Wait {
		body := fmt.Sprintf(`{"workflow":{"id":%q},"results":{}}`, q.Command.Workflow)
		replies = append(replies, events.Reply{Kind: events.ReplyDrained, Body: json.RawMessage(body)})
	}
	return replies
}

// Answer is an answer to a query.
func Answer(body string) events.Reply {
	return events.Reply{Kind: events.ReplyAnswer, Body: json.RawMessage(body)}
}

// Refuse is a refusal.
func Refuse(code, message, path string) events.Reply {
	return events.Reply{
		Kind: events.ReplyDecided, Result: events.ResultRefused,
		Refusal: &events.Refusal{Code: code, Message: message, Path: path},
	}
}

// Start answers with script until the test ends.
func Start(t testing.TB, cfg kafka.Config, script Script) {
	t.Helper()
	names, err := cfg.Names()
	if err != nil {
		t.Fatal(err)
	}
	in, err := kafka.NewTail(cfg, kafka.FromStart, names.Commands(), names.Queries())
	if err != nil {
		t.Fatal(err)
	}
	out, err := kafka.NewEffectsProducer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			in.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				answer(ctx, out, names.Replies(), parse(t, names.Queries(), r), script)
			})
		}
	}()
	t.Cleanup(func() { cancel(); <-done; in.Close(); out.Close() })
}

func parse(t testing.TB, queries string, r *kgo.Record) Request {
	q := Request{Record: r}
	if r.Topic == queries {
		q.Query = &events.Query{}
		if err := wire.Unmarshal(r.Value, q.Query); err != nil {
			t.Errorf("a query that cannot be decoded: %v", err)
		}
		return q
	}
	headers := make([]events.Header, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = events.Header{Key: h.Key, Value: h.Value}
	}
	place := fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)
	q.Command, q.Refused = events.ParseCommand(r.Key, headers, r.Value, place)
	return q
}

func answer(ctx context.Context, out *kgo.Client, topic string, q Request, script Script) {
	replies := script(q)
	var to events.ReplyTo
	workflow, command := string(q.Record.Key), ""
	switch {
	case q.Query != nil:
		to = q.Query.ReplyTo
	case q.Command != nil:
		to, command = q.Command.ReplyTo, q.Command.Name
	}
	if to.Address == "" {
		return
	}
	for _, r := range replies {
		if r.ID == "" {
			r.ID = to.ID
		}
		r.Workflow, r.Command = workflow, command
		b, err := json.Marshal(r)
		if err != nil {
			panic(err) // a script's body that is no JSON
		}
		out.Produce(ctx, kafka.Keyed(topic, []byte(to.Address), b), nil)
	}
}
