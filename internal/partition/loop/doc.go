// Package loop is the loop of a partition's lawful owner: inputs in; a journal record,
// rows and effects out. It hosts a machine.Machine, which decides; it does no domain
// logic itself. It is deterministic: it starts no goroutine, reads no clock but the one
// that it is given, and does no I/O but through Log and State. Package partition is the
// owner's life around it.
//
// Processor.Step does, in this order, again and again:
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
// What a log outside does not take for now leaves the bound, and memory: a waitlist
// keeps what is needed to make it again (parked.go), or leaves it in the outbox alone
// (beyond.go).
//
// # Files
//
// processor.go, decide.go, inflight.go and writing.go are the loop; inputs.go,
// commands.go, misfits.go, jumps.go and operate.go the ways of inputs; conclude.go what
// follows from a record, live and in replay; effects.go, parked.go, beyond.go, ledger.go,
// expiry.go, timers.go, liveness.go, again.go, reads.go, reads_held.go and lease.go what
// a record changes beside the machine's rows; replay.go, replayed.go, unapplied.go,
// originals.go and quarantine.go recovery; wary.go an owner behind an unclean end. seams.go is what
// the loop asks of those around it. The laws by letter (J1, O2, …) are in
// docs/protocol.md.
package loop
