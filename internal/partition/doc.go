// Package partition is the life of an owner of a planner partition: it claims the
// partition, recovers its state from the journal, serves it with the loop of package
// loop, renews its lease with each checkpoint, and releases it.
//
// # What a crash in each gap leaves
//
//   - Before the append: nothing. The input is read again.
//   - After the append, before its acknowledgement: the record is in the journal
//     or it is not; recovery finds out by reading it (O3). What the journal does
//     not have did not happen, and its input is read again.
//   - After the acknowledgement, before the batch: recovery replays the record
//     and derives rows, ledger and outbox from it; its effects are released again,
//     under the same ids (E1), whether they were out or not. An effect that carries
//     its input's own bytes becomes an outbox row that says where these are
//     (loop/originals.go); an owner that comes to serve reads them again.
//   - After the batch: the outbox and the open attempts say what is not known to
//     be out; only that is released again.
//   - During a checkpoint: each of its transactions is whole or nothing (C1), each
//     leaves a changelog to restore from (C3), and what was dirty stays dirty until
//     the commit is known (C2).
//
// # Files
//
// owner.go is an owner's life from its assignment to its end. recover.go, turn.go,
// restore.go, claim.go, vanish.go, accept.go, journalloss.go, remake.go and suspects.go
// bring it to its loop; serve.go runs that. checkpoint.go, checkpoint_job.go, redo.go,
// pace.go, marker.go and trim.go are its checkpoints, published.go and blocked.go what it
// tells. host.go, clock.go, compare.go, probe.go, reader.go, kafkalog.go, offsets.go,
// statuses.go and queues.go are what the partitions of a process share, and package feed is
// what comes in; package defect contains panics; fitness.go and attend.go keep it a member of its group while it can
// serve. The laws by letter (J1, O2, …) are in docs/protocol.md.
package partition
