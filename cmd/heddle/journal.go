package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/heddle-run/heddle/internal/journal"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// journalCmd shows the journal: the truth that everything else is made from.
type journalCmd struct {
	Dump journalDumpCmd `cmd:"" help:"Print the records that are there."`
	Tail journalTailCmd `cmd:"" help:"Print records as they are appended."`
}

// journalArgs choose records.
type journalArgs struct {
	Workflow  string  `arg:"" optional:"" help:"Only the records of this workflow."`
	Partition []int32 `env:"-" short:"p" help:"Only these partitions."`
	logArgs
}

// logArgs say where a deployment's topics are.
type logArgs struct {
	Brokers       []string `placeholder:"HOST:PORT" help:"Kafka brokers; without it those of a running 'heddle dev'."`
	Prefix        string   `default:"heddle." help:"Prefix of the deployment's topics."`
	Data          string   `placeholder:"DIR" help:"Data directory of the 'heddle dev'; without it .heddle here or in a directory above."`
	kafkaSecurity `group:"Access to Kafka"`
}

type journalDumpCmd struct{ journalArgs }

// Run implements the command.
func (c *journalDumpCmd) Run(a *app) error {
	return c.read(a, func(ctx context.Context, r *journal.Reader, p int32, show func(journal.Entry) error) error {
		rest := c.whole(p)
		var err error
		if rest.From, err = r.Begin(ctx, p); err == nil {
			_, err = r.Read(ctx, rest, show)
		}
		return err
	})
}

type journalTailCmd struct{ journalArgs }

// Run implements the command.
func (c *journalTailCmd) Run(a *app) error {
	return c.read(a, func(ctx context.Context, r *journal.Reader, p int32, show func(journal.Entry) error) error {
		// From its start, because only that tells which records are lawful.
		rest := c.whole(p)
		var err error
		if rest.From, err = r.Begin(ctx, p); err != nil {
			return err
		}
		place, err := r.Read(ctx, rest, func(journal.Entry) error { return nil })
		if err != nil {
			return err
		}
		rest.From, rest.To = place, journal.Follow
		_, err = r.Read(ctx, rest, show)
		return err
	})
}

// whole is what there is of a partition now.
func (c *journalArgs) whole(p int32) journal.Range {
	r := journal.Range{Partition: p, To: journal.Now}
	if c.Workflow != "" {
		r.Wanted = func(key []byte) bool { return string(key) == c.Workflow }
	}
	return r
}

// reading reads one partition and shows its records.
type reading func(ctx context.Context, r *journal.Reader, p int32, show func(journal.Entry) error) error

// read reads the chosen partitions, all at a time, and prints what they show.
func (c *journalArgs) read(a *app, one reading) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	partitions, err := c.partitions(a, config)
	if err != nil {
		return err
	}
	r, err := journal.NewReader(config)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx, stop := context.WithCancel(a)
	defer stop()
	var printing sync.Mutex
	errs := make([]error, len(partitions))
	var reading sync.WaitGroup
	for i, p := range partitions {
		reading.Go(func() {
			errs[i] = one(ctx, r, p, func(e journal.Entry) error {
				printing.Lock()
				defer printing.Unlock()
				return a.printRecord(p, e)
			})
			if errs[i] != nil {
				stop()
			}
		})
	}
	reading.Wait()
	return errors.Join(errs...)
}

func (c *logArgs) config() (kafka.Config, error) {
	config := kafka.Config{Brokers: c.Brokers, Prefix: c.Prefix, Security: c.security()}
	if len(c.Brokers) > 0 {
		return config, nil
	}
	file, err := (&remote{Data: c.Data}).running(brokerOf, "brokers with --brokers: this command reads Kafka, not a gateway")
	return kafka.Config{Brokers: file.Brokers, Prefix: file.Prefix}, err
}

// partitions are the chosen ones; that of the workflow, or all.
func (c *journalArgs) partitions(a *app, config kafka.Config) ([]int32, error) {
	if len(c.Partition) > 0 {
		return c.Partition, nil
	}
	cl, err := reach(a, config)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	set, err := topics.Default().Discover(a, cl, config.Prefix)
	if err != nil {
		return nil, err
	}
	if c.Workflow != "" {
		return []int32{kafka.PartitionFor([]byte(c.Workflow), set.Partitions())}, nil
	}
	all := make([]int32, set.Partitions())
	for i := range all {
		all[i] = int32(i)
	}
	return all, nil
}

// recordOutput is a journal record as `journal -o json` prints it.
type recordOutput struct {
	Partition int32           `json:"partition"`
	Offset    int64           `json:"offset"`
	Record    json.RawMessage `json:"record"`
}

// printRecord prints a record as one line.
func (a *app) printRecord(p int32, e journal.Entry) error {
	if a.json {
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(recordOutput{p, e.Mark.Offset, wire.ToJSON(e.Record)})
	}
	return printRecordLine(a.out, p, e)
}

func printRecordLine(w io.Writer, p int32, e journal.Entry) error {
	rec := e.Record
	names := make([]string, len(rec.Events))
	for i, event := range rec.Events {
		names[i] = events.Name(event)
	}
	workflow := rec.Workflow
	if workflow == "" {
		workflow = "-"
	}
	_, err := fmt.Fprintf(w, "%3d  %8d  %-9s  %s  %-9s %-28s %s\n", p, e.Mark.Offset, rec.Position,
		time.UnixMilli(rec.Time).Format("15:04:05.000"), rec.Input.Source, shown(workflow), strings.Join(names, " "))
	return err
}
