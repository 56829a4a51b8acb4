package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// dlqCmd shows what could not be read, or was refused without anybody to tell.
type dlqCmd struct {
	Entry    string `arg:"" optional:"" placeholder:"PARTITION@OFFSET" help:"Print this entry, with its value; without it entries are listed."`
	Workflow string `env:"-" help:"Only entries of this workflow."`
	Limit    int    `env:"-" default:"50" help:"How many of the newest at most."`
	logArgs
}

// deadLetter is an entry of the dlq and where it stands.
type deadLetter struct {
	Entry string `json:"entry"`
	events.Letter
	at int64 // when it was written, Unix ms
}

// letterHead is an entry as `dlq -o json` lists it.
type letterHead struct {
	Entry     string `json:"entry"`
	Reason    string `json:"reason"`
	Path      string `json:"path,omitempty"`
	Workflow  string `json:"workflow,omitempty"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Time      int64  `json:"timestamp_ms"`
}

// Run implements the command.
func (c *dlqCmd) Run(a *app) error {
	if c.Limit < 1 {
		return usageError("--limit %d is not at least 1", c.Limit)
	}
	config, err := c.config()
	if err != nil {
		return err
	}
	admin, err := reach(a, config)
	if err != nil {
		return err
	}
	defer admin.Close()
	set, err := topics.Default().Discover(a, admin, config.Prefix)
	if err != nil {
		return err
	}
	reader, err := kafka.NewLogReader(config)
	if err != nil {
		return err
	}
	defer reader.Close()
	if c.Entry != "" {
		return c.one(a, reader, set.DLQ())
	}
	return c.list(a, reader, set.DLQ())
}

// one prints an entry whole.
func (c *dlqCmd) one(a *app, cl *kgo.Client, topic string) error {
	before, after, ok := strings.Cut(c.Entry, "@")
	p, bad := strconv.ParseInt(before, 10, 32)
	offset, worse := strconv.ParseInt(after, 10, 64)
	if !ok || bad != nil || worse != nil || p < 0 || offset < 0 {
		return usageError("%q is not an entry as heddle dlq lists them: PARTITION@OFFSET", c.Entry)
	}
	var found *deadLetter
	err := eachLetter(a, cl, topic, func(int32, int64, int64) int64 { return offset }, func(l *deadLetter) {
		if l.Entry == c.Entry {
			found = l
		}
	}, int32(p))
	if err != nil {
		return err
	}
	if found == nil {
		return &client.Error{Code: "not_found", Message: fmt.Sprintf("there is no entry %s in %s", c.Entry, topic)}
	}
	return a.print(found, func(w io.Writer) { printLetter(w, found) })
}

// list prints the newest entries, the newest last, without their values.
func (c *dlqCmd) list(a *app, cl *kgo.Client, topic string) error {
	all := []*deadLetter{}
	from := func(_ int32, start, end int64) int64 {
		if c.Workflow != "" { // it may be anywhere
			return start
		}
		return max(start, end-int64(c.Limit))
	}
	err := eachLetter(a, cl, topic, from, func(l *deadLetter) {
		if c.Workflow != "" && l.Workflow != c.Workflow {
			return
		}
		l.Headers, l.Value = nil, nil // there may be much of it
		all = append(all, l)
		if len(all) > 2*c.Limit {
			all = newest(all, c.Limit)
		}
	})
	if err != nil {
		return err
	}
	all = newest(all, c.Limit)
	heads := make([]letterHead, len(all))
	for i, l := range all {
		heads[i] = letterHead{l.Entry, l.Reason, l.Path, l.Workflow, l.Topic, l.Partition, l.Offset, l.Time}
	}
	return a.print(listed[letterHead]{Items: heads}, func(w io.Writer) {
		table := [][]string{{"ENTRY", "INPUT OF", "WORKFLOW", "FROM", "REASON"}}
		for _, l := range all {
			table = append(table, []string{l.Entry, when(l.Time), l.Workflow, l.from(), l.why()})
		}
		rows(w, table)
	})
}

func newest(all []*deadLetter, limit int) []*deadLetter {
	slices.SortStableFunc(all, func(a, b *deadLetter) int { return int(a.at - b.at) })
	return all[max(0, len(all)-limit):]
}

// from is where the input stood.
func (l *deadLetter) from() string { return fmt.Sprintf("%s/%d@%d", l.Topic, l.Partition, l.Offset) }

// why is the reason with the place within the input.
func (l *deadLetter) why() string {
	if l.Path == "" {
		return l.Reason
	}
	return l.Path + ": " + l.Reason
}

func when(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }

func printLetter(w io.Writer, l *deadLetter) {
	table := [][]string{
		{"entry", l.Entry}, {"journal", l.ID}, {"input of", when(l.Time)}, {"from", l.from()},
		{"workflow", l.Workflow}, {"reason", l.Reason}, {"path", l.Path}, {"key", legible(l.Key)},
	}
	for _, h := range l.Headers {
		table = append(table, []string{"header", h.Key + "=" + legible(h.Value)})
	}
	rows(w, append(table, []string{"value", legible(l.Value)}))
}

// legible is a value as text; of what is none, the first bytes in hex: JSON output
// has it all.
func legible(b []byte) string {
	const most = 64
	switch {
	case utf8.Valid(b):
		return string(b)
	case len(b) > most:
		return fmt.Sprintf("%x… (%d bytes that are no UTF-8; -o json has them)", b[:most], len(b))
	}
	return fmt.Sprintf("%x (no UTF-8)", b)
}

// letterWait bounds the reading of what is there.
const letterWait = time.Minute

// eachLetter visits the entries that are there now, of some partitions or of all,
// each from an offset on that follows from where its partition begins and ends.
func eachLetter(ctx context.Context, cl *kgo.Client, topic string, from func(p int32, start, end int64) int64, visit func(*deadLetter), only ...int32) error {
	ctx, cancel := context.WithTimeout(ctx, letterWait)
	defer cancel()
	adm := kadm.NewClient(cl)
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the start of %s: %w", topic, err)
	}
	ends, err := adm.ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ask for the end of %s: %w", topic, err)
	}
	left, places := map[int32]int64{}, map[int32]kgo.Offset{}
	ends.Each(func(end kadm.ListedOffset) {
		p := end.Partition
		start, _ := starts.Lookup(topic, p)
		at := from(p, start.Offset, end.Offset)
		if at >= start.Offset && at < end.Offset && (len(only) == 0 || slices.Contains(only, p)) {
			left[p], places[p] = end.Offset, kgo.NewOffset().At(at)
		}
	})
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: places})
	for len(left) > 0 {
		if err := takeLetters(cl.PollFetches(ctx), left, visit); err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
	}
	return nil
}

// takeLetters visits what a poll has of the partitions that have an end ahead.
func takeLetters(fetches kgo.Fetches, left map[int32]int64, visit func(*deadLetter)) error {
	for _, e := range fetches.Errors() {
		if errors.Is(e.Err, context.DeadlineExceeded) || !kafka.IsRetriable(e.Err) {
			return e.Err
		}
	}
	fetches.EachRecord(func(r *kgo.Record) {
		end, open := left[r.Partition]
		if !open || r.Offset >= end {
			return
		}
		if r.Offset+1 == end {
			delete(left, r.Partition)
		}
		if r.Attrs.IsControl() {
			return
		}
		l := &deadLetter{Entry: fmt.Sprintf("%d@%d", r.Partition, r.Offset), at: r.Timestamp.UnixMilli()}
		if err := json.Unmarshal(r.Value, &l.Letter); err != nil {
			l.Letter = events.Letter{Reason: fmt.Sprintf("this entry is none of Heddle's: %v", err), Key: r.Key, Value: r.Value}
		}
		visit(l)
	})
	return nil
}
