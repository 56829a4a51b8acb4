package sim

import (
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// auditPools holds the records of pools against what pools promise, and what executors were told against them: nobody is
// blamed for a command that it was not sent. Where planners have hardly any room that may be on its way for long.
func (au *audit) auditPools(journals [][]*events.Record) {
	if au.pooling == nil {
		return
	}
	_, told := au.toldExecutors()
	for p, records := range journals {
		pools, err := workload.CheckPools(records)
		if err != nil {
			au.failAbout(ofPartition(int32(p)), "pools: %w", err)
		}
		for _, b := range pools.Blames {
			if au.plan.Settings.InflightRecords == 0 && au.doubtful[int32(p)] == 0 && !slices.Contains(told[b.To], b.Index) {
				au.failAbout(au.workflow(b.Pool), "record %s of %s: runner %d has not confirmed command %d, which it was not told by %+v", b.At, b.Pool, b.Session, b.Index, b.To)
			}
		}
	}
}

// toldExecutors is what the log of commands says: which sockets are to be closed, and the commands that were sent, by sockets.
func (au *audit) toldExecutors() (closed map[events.Connection]bool, told map[events.Connection][]uint64) {
	closed, told = map[events.Connection]bool{}, map[events.Connection][]uint64{}
	topic := au.c.names.RunnerCommands()
	for p := range au.c.topics[topic].partitions {
		for _, rec := range au.c.visible(place{topic, p}) {
			m, err := events.DecodeRunnerCommands(rec.Value)
			if err != nil {
				au.fail("commands to a runner: %w", err)
				continue
			}
			if m.Close != "" {
				closed[m.To] = true
			}
			for _, c := range m.Commands {
				told[m.To] = append(told[m.To], c.Index)
			}
		}
	}
	return closed, told
}

// owedByPools are the attempts that pools have, though no workflow waits for any, and the sockets that were to be closed
// whose executors are not told. The cluster's lock is held.
func (au *audit) owedByPools(journals [][]*events.Record) (all []owed) {
	if au.pooling == nil {
		return nil
	}
	closed, _ := au.toldExecutors()
	for p, records := range journals {
		pools, _ := workload.CheckPools(records) // what is wrong the audit of the journals says
		for _, id := range sortedKeys(pools.Open) {
			if n := pools.Open[id]; n > 0 {
				all = append(all, owed{int32(p), records[len(records)-1].Position, fmt.Sprintf("%s has %d attempts, and nobody waits for them", id, n)})
			}
		}
		for _, c := range pools.Closes {
			if !closed[c.To] {
				all = append(all, owed{int32(p), c.At, fmt.Sprintf("%s closes the socket %+v, and its executor is not told", c.Pool, c.To)})
			}
		}
	}
	return all
}
