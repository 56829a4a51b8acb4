// Package journal reads and writes journal partitions by the rules of the
// partition log: it is the one shared reader, used by recovery,
// gateway, tools and tests.
//
// A record of the journal counts only if Filter says so: it is of the current
// epoch with the last seq + 1, or a takeover (seq 1 of a later epoch, naming the
// current one as replaced). Everything else is void, for every reader and for ever.
// Epoch, seq and the replaced epoch stand in the record's headers, so that the rule
// needs no decoding of values.
package journal
