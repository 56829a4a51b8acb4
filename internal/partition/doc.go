// Package partition is the partition log: how one planner partition turns
// inputs into journal records, state and effects. It hosts a machine.Machine,
// which decides; it does no domain logic itself.
//
// # The loop of the lawful owner
//
// Processor.Step, in this order, again and again:
//
//  1. Acknowledgements are taken: of journal records, in order, and of effects.
//  2. The effects of the records acknowledged so far are released.
//  3. Inputs are taken in turns: due timers, what the partition has found out
//     itself, inbox, commands. A command that the ledger knows is answered and
//     dropped.
//  4. The machine decides. Its events change the state in memory at once, so
//     that the next input sees them; the record goes to the journal, and the
//     loop goes on to the next input without waiting.
//  5. Queries that have read far enough are answered.
//  6. What is acknowledged goes to the store, once enough has come together or
//     the oldest has waited long enough: rows, ledger, positions, the mark of the
//     last record, and an outbox row for each effect not known to be out, in one
//     batch (writing.go says why it may be late).
//
// The loop runs ahead of acknowledgements within a bound of records and bytes.
// What a log outside does not take for now leaves the bound, and memory: a lane
// keeps what is needed to make it again (aside.go), or leaves it in the outbox alone
// (beyond.go).
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
//     (originals.go); who comes to serve reads them again.
//   - After the batch: the outbox and the open attempts say what is not known to
//     be out; only that is released again.
//   - During a checkpoint: each of its transactions is whole or nothing (C1), each
//     leaves a changelog to restore from (C3), and what was dirty stays dirty until
//     the commit is known (C2).
//
// # Files
//
// processor.go, decide.go, inflight.go and writing.go are the loop; inputs.go, commands.go,
// misfits.go and operate.go the ways of inputs; conclude.go what follows from a
// record, live and in replay; effects.go, aside.go, beyond.go, ledger.go, timers.go, liveness.go,
// again.go, reads.go, reads_held.go and lease.go what a record changes beside the machine's rows.
// owner.go, recover.go, turn.go, restore.go, replay.go, claim.go, vanish.go, accept.go, quarantine.go, originals.go, panics.go, serve.go, suspects.go, unapplied.go,
// checkpoint.go, checkpoint_job.go, redo.go, pace.go, marker.go and published.go are an owner's
// life. host.go, clock.go, compare.go, probe.go, router.go, router_faults.go, reader.go,
// kafkalog.go, mailbox.go, offsets.go and queues.go are what the partitions of a process
// share; fitness.go and attend.go keep it a member of its group while it can serve.
// The laws by letter (J1,
// O2, …) are in docs/protocol.md.
package partition
