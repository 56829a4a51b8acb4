// Package sim runs whole planner clusters in a deterministic simulation: the
// protocol code of package partition (owners, tenures, processors, checkpoints,
// stores, the journal's reader) as it is, over a model of Kafka or the embedded
// broker, and models of disks, of clocks, of workers and of clients, under one
// scheduler that a seed drives.
//
// A run lives in a bubble of virtual time (testing/synctest). Everything that a
// process asks of the cluster becomes an operation of a stream, whose name says
// who asks for what. When nothing in the bubble can go on by itself, the
// scheduler picks by the seed what comes next: one operation happens at the
// cluster, one answer arrives, a worker moves, or time passes. As every stream has
// a stable name and one thing happens at a time, the same seed gives the same
// history.
//
// Faults are drawn from the seed before the run begins (fault.go). After the
// given number of steps they end, and everything has to come to rest. Then the
// run is audited (audit.go): results against an oracle, journals against the
// behaviour of workflows, answers against journals (audit_told.go: nothing is told
// before it is written; audit_reads.go: every read is of a state that was),
// record time against clocks (audit_time.go), stores against the folded journal,
// and each workflow's history of commands and reads for linearizability (package
// calls). While it runs, effects are held against leases (leash.go).
//
// brokers.go says what is asked of a Kafka cluster. model.go, log.go and
// coordinator.go are a model of one, with faults that no cluster in one process
// has; embedded.go, embedded_log.go, embedded_txn.go, batch.go and conn.go speak
// the Kafka protocol to the embedded broker in the same bubble, one request at a
// time, so that its real logs and transactions replay exactly too. cluster.go is
// what clients see of either; stream.go,
// client.go and txn.go its clients; node.go a planner's process, package disk its
// disk; worker.go, caller.go, user.go and meddle.go what works with planners;
// archiver.go an archiver with its store, which audit_archive.go audits; pools.go pools of runners, in one seed of eight:
// executor.go, socket.go and telling.go are a model of executors that have sockets, runner.go processes around the real
// protocol code of runners, pools_faults.go what happens to them, and audit_pools.go holds the pools' records;
// schedule.go, fault.go, faults_node.go, faults_log.go, absent.go, stamps.go,
// membership.go, attend.go and calm.go what happens.
package sim
