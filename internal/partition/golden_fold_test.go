package partition_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/partition"
	"github.com/heddle-run/heddle/internal/partition/loop"
	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// fold lets recoveries read the journal from a broker, each into an empty store,
// when so many of its records are there, for as long as visit, which gets what the store
// then holds, wants more. changed is put around the machine; nil: nothing.
func (g *golden) fold(t *testing.T, cuts []int, changed func(machine.Machine) machine.Machine, visit func(behind int, all workload.Content) bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &goldenBroker{golden: g, t: t, changed: changed, cluster: brokertest.StartInBubble(t, topics.Options{Partitions: g.owner.Partitions})}
		for _, cut := range cuts {
			b.write(cut)
			if !visit(cut, b.recover()) {
				return
			}
		}
	})
}

// goldenBroker is a broker with a journal as far as it is written.
type goldenBroker struct {
	*golden
	t       *testing.T
	cluster *brokertest.Cluster
	changed func(machine.Machine) machine.Machine
	written int
}

func (b *goldenBroker) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("%s, behind %d of %d records: %v", b.name, b.written, len(b.records), err)
	}
}

// write writes the journal's next records, up to a number.
func (b *goldenBroker) write(cut int) {
	cl, err := kafka.NewEffectsProducer(b.cluster.Config)
	b.must(err)
	defer b.cluster.Close(cl)
	names, err := b.cluster.Config.Names()
	b.must(err)
	for ; b.written < cut; b.written++ {
		rec := b.records[b.written].at(names, b.owner.Partition)
		b.must(cl.ProduceSync(context.Background(), rec).FirstErr())
	}
}

// Now implements loop.Clock: it is the time of the last record, whenever
// that is read.
func (b *goldenBroker) Now() time.Time { return time.UnixMilli(b.records[b.written-1].Time) }

// recover is what a recovery puts into an empty store.
func (b *goldenBroker) recover() workload.Content {
	fs := vfs.NewMem()
	host, err := partition.NewHost(context.Background(), partition.HostConfig{
		Kafka: b.cluster.Config, Partitions: b.owner.Partitions, Instance: "golden", Owner: "golden/1", Clock: b,
		Settings: loop.Settings{Window: 24 * time.Hour},
		Machine:  b.machine,
		Store:    func(int32) store.Options { return store.Options{Dir: goldenStore, FS: fs} },
		Member:   func() (string, int32) { return "", -1 },
	})
	b.must(err)
	err = host.Recover(context.Background(), b.owner.Partition)
	synctest.Wait()
	host.Close()
	b.must(err)
	all, err := workload.Read(fs, goldenStore, b.tables())
	b.must(err)
	return all
}

// tablesSince are the tables that the states of older versions of the events do not have: they have rows for what
// is looked at only, and nothing is decided by them.
var tablesSince = map[rows.Table]int{rows.Dispatch: 2}

// tables are those of a journal's states.
func (g *golden) tables() []rows.Table {
	return slices.DeleteFunc(slices.Clone(workload.Tables), func(t rows.Table) bool { return g.version < tablesSince[t] })
}

const goldenStore = "store"

// machine is the planner's, which finds definitions in the journal only, with the entities beside its workflows.
func (b *goldenBroker) machine(p int32) machine.Machine {
	m := workload.Kinds(b.key(), planner.New(planner.Config{
		Key: b.key(), Partition: p, Definitions: func(string) ([]byte, bool) { return nil, false },
	}))
	if b.changed != nil {
		m = b.changed(m)
	}
	return m
}

// differences compares what the journal folds to with what it folded to when it
// was recorded, state after state; of a machine that is changed the first counts.
func (g *golden) differences(t *testing.T, changed func(machine.Machine) machine.Machine) error {
	t.Helper()
	var errs []error
	var cuts []int
	want := map[int]workload.Content{}
	for _, s := range g.states {
		cuts = append(cuts, s.Behind)
		want[s.Behind] = s.content()
	}
	g.fold(t, cuts, changed, func(behind int, have workload.Content) bool {
		what := fmt.Sprintf("%s, behind %d of %d records", g.name, behind, len(g.records))
		err := workload.Compare(what, want[behind], have)
		errs = append(errs, err)
		return changed == nil || err == nil
	})
	return errors.Join(errs...)
}
