package plannerd

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/limits"
	"github.com/heddle-run/heddle/services/planner/notice"
	"github.com/heddle-run/heddle/services/planner/pool"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// Config are the settings of a planner. Zero values mean the defaults, but
// Kafka, DataDir and TokenKey have none.
type Config struct {
	Kafka    kafka.Config
	DataDir  string     // of the partitions' stores; they can be made again
	FS       store.FS   // nil: the operating system's
	Instance string     // name of this planner, unique among those that run; host name
	TokenKey events.Key // the deployment's secret, at least 16 bytes, equal on all planners

	Partition  loop.Settings
	Clock      loop.Clock        // of leases and records; nil: the system's
	CacheBytes int64             // of Pebble's blocks, for all partitions together; 64 MiB
	Retain     definition.Retain // of workflows that do not say so themselves; planner.DefaultRetain
	Archive    bool              // there is an archiver: nothing is deleted by its age that it has not
	MaxActive  int               // attempts of one workflow at a time; planner.DefaultMaxActive
	Budget     machine.Budget    // of one decision
	Pools      pool.Settings     // of runners, and which queues are bound to them

	// Durability says what an acknowledgement of the broker survives, for
	// readiness; nil: asked from the cluster.
	Durability *runtime.Durability

	// Machine makes the machine of a partition; nil: planner.New. definitions
	// resolves a name, name@version or digest.
	Machine func(p int32, definitions func(ref string) ([]byte, bool)) machine.Machine

	Killed     faults.Killed         // by a test
	Ready      func()                // called once, when the first partitions are owned
	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // of metrics; nil: none
	Tracer     trace.Tracer          // of spans; nil: none are made

	prefix string // of the deployment's topics
}

const (
	defaultCacheBytes = 64 << 20
	minKeyBytes       = 16
)

func (c *Config) defaults() error {
	if len(c.TokenKey) < minKeyBytes {
		return fmt.Errorf("the token key has %d bytes, want at least %d", len(c.TokenKey), minKeyBytes)
	}
	if c.DataDir == "" {
		return errors.New("no data directory given")
	}
	if c.Instance == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("asking for the host name: %w", err)
		}
		c.Instance = host
	}
	names, err := c.Kafka.Names()
	if err != nil {
		return err
	}
	c.prefix = names.Prefix()
	c.Partition.Archive = c.Archive
	c.Partition.Shards = c.Pools.Shards()
	c.Partition.Pools = map[string]string{}
	for queue, name := range c.Pools.Bindings() { // order: into a map
		c.Partition.Pools[queue] = name
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = defaultCacheBytes
	}
	if err := checkBudget(c.Budget.Complete()); err != nil {
		return err
	}
	if err := c.Pools.Check(); err != nil {
		return err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Machine == nil {
		c.Machine = c.planner
	}
	return nil
}

func (c *Config) planner(p int32, definitions func(string) ([]byte, bool)) machine.Machine {
	return machine.Kinds{
		Workflows: planner.New(planner.Config{Key: c.TokenKey, Partition: p, Definitions: definitions, MaxActive: c.MaxActive, Retain: c.Retain.Over(planner.DefaultRetain), Archive: c.Archive, Prefix: c.prefix, Budget: c.Budget, Pools: c.Pools.Bindings(), Shards: c.Pools.Shards()}),
		Others:    map[string]machine.Machine{notice.Kind: notice.New(c.TokenKey), limits.Kind: limits.Machine{}, pool.Kind: pool.New(c.Pools)},
	}
}

// checkBudget refuses a budget in which not even a refusal has room.
func checkBudget(b machine.Budget) error {
	for _, f := range []struct {
		name       string
		has, least int
	}{
		{"bytes", b.Bytes, machine.LeastBytes},
		{"events", b.Events, machine.LeastEvents},
		{"steps", b.Steps, machine.LeastSteps},
		{"bytes of tasks", b.Tasks, machine.LeastTasks},
		{"bytes of a value", b.Value, machine.LeastValue},
	} {
		if f.has < f.least {
			return fmt.Errorf("a decision may have %d %s, want at least %d", f.has, f.name, f.least)
		}
	}
	return nil
}

func (c *Config) dir(p int32) string {
	return filepath.Join(c.DataDir, fmt.Sprintf("partition-%d", p))
}
