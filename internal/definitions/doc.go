// Package definitions keeps what the definitions topic says in memory and
// writes to it, and sees to it that the task queues that definitions name exist.
//
// The topic is compacted and has three kinds of records, all JSON:
//
//	sha256:…            the canonical definition
//	name/NAME           {"digest", "version"}: what the name means now
//	name/NAME@VERSION   {"digest"}: what that version means now
//
// A registration writes them in this order, so a label never names a definition
// that is not there yet. Labels may move; a digest never changes its meaning.
package definitions
