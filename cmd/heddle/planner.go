package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/services/planner/plannerd"
	"github.com/heddle-run/heddle/services/planner/pool"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// plannerCmd runs the planner service.
type plannerCmd struct {
	serviceSettings
	Data           string        `required:"" placeholder:"DIR" help:"Directory of the partitions' stores; they can always be made again."`
	TokenKey       string        `required:"" placeholder:"SECRET" help:"The deployment's secret, equal on all planners: at least 16 bytes, as text or hex."`
	NeverRunsTwice bool          `help:"Promise that a process of this --name never runs twice at a time, as in a StatefulSet: it takes its own older leases over at once."`
	CacheBytes     int64         `default:"67108864" help:"Bytes of stored blocks to keep in memory, for all partitions together."`
	HotBytes       int           `default:"134217728" help:"Bytes of hot workflows to keep in memory, for all partitions together."`
	DedupeWindow   time.Duration `default:"24h" help:"How long a repeated command is recognised, equal on all planners. Commands and inbox keep what is decided for twice as long."`
	History        time.Duration `default:"168h" help:"How long the journal keeps what recovery needs no more, for histories; its owner deletes what is older."`
	LeaveAfter     time.Duration `default:"20s" help:"How long a reason of its own (its clock, its disk, a locked store, no route to a leader) keeps a planner from serving before it leaves the group, for others to take over."`
	MaxActive      int           `help:"Attempts of one workflow at a time, unless its options say less; 0 is the default of 1,000."`

	Pools poolMap `placeholder:"QUEUE=POOL" help:"Pools of runners by the queue whose attempts they run, instead of workers. The settings file can say more, by pool: {queues, older: wait or overflow, upgrade: keep or drain, shards: NUMBER}. Equal on all planners."`

	Archive bool `help:"There is an archiver (heddle archiver): no workflow is deleted by its age, and nothing of the journal, before that has it. Equal on all planners."`

	RetainCompleted string `default:"7d" help:"How long a completed workflow is kept that does not say so itself (option retain), as in 7d; or forever."`
	RetainFailed    string `default:"90d" help:"Likewise, one that has failed and that nobody has retried."`
	RetainCancelled string `default:"7d" help:"Likewise, one that was cancelled."`
	RetainIdle      string `default:"forever" help:"Likewise, one that is idle."`

	Child bool `hidden:"" env:"-" help:"Serve the process that started this one: say so on the standard output once it can be used, and end at once with the standard input, as then that process has ended."`

	DecisionEvents    int `default:"512" help:"Events that one decision (about a command, an outcome or a timer) adds to the journal before the rest of its work is left for later records; the other workflows of the partition get their turns in between."`
	DecisionBytes     int `default:"262144" help:"Likewise, bytes of values that it adds."`
	DecisionSteps     int `default:"250000" help:"Likewise, steps of expressions; as many as the default take some milliseconds. A single component that takes more, besides two for each byte that it reads, fails by itself."`
	DecisionTaskBytes int `default:"4194304" help:"Likewise, bytes of the tasks that it sends."`
	ValueBytes        int `default:"4194304" help:"Bytes of one value that a component makes or a join puts together; a component with a larger one fails by itself."`
}

// Run implements the command.
func (c *plannerCmd) Run(a *app) error {
	key := tokenKey(c.TokenKey)
	if len(key) < minTokenKey {
		return usageError("--token-key has %d bytes, want at least %d", len(key), minTokenKey)
	}
	if c.DedupeWindow <= 0 {
		return usageError("--dedupe-window is %s, want more than 0", c.DedupeWindow)
	}
	if err := positiveHistory(c.History); err != nil {
		return err
	}
	retain, err := c.retain()
	if err != nil {
		return err
	}
	if _, err := c.checkTopics(a); err != nil {
		return err
	}
	if c.Name == "" && !c.NeverRunsTwice {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("asking for the host name: %w", err)
		}
		c.Name = fmt.Sprintf("%s-%d", host, os.Getpid())
	}
	if c.Child {
		go endWith(a.in)
	}
	return c.runTraced(a, "planner", func(ctx context.Context, ready func(), reg *prometheus.Registry, tracer trace.Tracer) error {
		p, err := plannerd.New(plannerd.Config{
			Kafka: c.kafka(), DataDir: c.Data, Instance: c.Name, TokenKey: key,
			CacheBytes: c.CacheBytes, MaxActive: c.MaxActive, Retain: retain, Archive: c.Archive, Pools: pool.Settings{Pools: c.Pools},
			Budget:    machine.Budget{Bytes: c.DecisionBytes, Events: c.DecisionEvents, Steps: c.DecisionSteps, Tasks: c.DecisionTaskBytes, Value: c.ValueBytes},
			Partition: loop.Settings{HotBytes: c.HotBytes, NeverRunsTwice: c.NeverRunsTwice, Window: c.DedupeWindow, History: c.History, LeaveAfter: c.LeaveAfter},
			Ready:     c.saying(a, ready), Logger: c.logger(a), Registerer: reg, Tracer: tracer,
		})
		if err != nil {
			return err
		}
		c.health.Ready("fit to serve", func(context.Context) error { return p.Unfit() })
		return p.Run(ctx)
	})
}

// retain is how long workflows are kept that do not say so themselves.
func (c *plannerCmd) retain() (definition.Retain, error) {
	said, err := json.Marshal(map[string]any{"retain": map[string]string{
		"completed": c.RetainCompleted, "failed": c.RetainFailed, "cancelled": c.RetainCancelled, "idle": c.RetainIdle,
	}})
	if err != nil {
		return definition.Retain{}, err
	}
	o, err := definition.ParseOptions(said, "")
	if err != nil {
		return definition.Retain{}, usageError("%v", err)
	}
	return o.Retain, nil
}

// saying is ready, told to the process that started this one.
func (c *plannerCmd) saying(a *app, ready func()) func() {
	return func() {
		ready()
		if c.Child {
			fmt.Fprintln(a.out, strings.TrimSpace(dev.ChildReady+" "+c.served))
		}
	}
}

// endWith ends the process with the one that holds the other end of its input. The
// broker may be gone with that: there is nothing to wait for, and nothing to lose.
func endWith(in io.Reader) {
	_, _ = io.Copy(io.Discard, in) // an error is an end, too
	os.Exit(codeFailed)
}

const minTokenKey = 16

func positiveHistory(d time.Duration) error {
	if d <= 0 {
		return usageError("--history is %s, want more than 0", d)
	}
	return nil
}

// tokenKey reads the secret: hex of enough bytes, or else the text itself.
func tokenKey(text string) events.Key {
	if raw, err := hex.DecodeString(text); err == nil && len(raw) >= minTokenKey {
		return raw
	}
	return events.Key(text)
}
