// Package request sends commands and queries to planners over Kafka and matches the
// replies.
//
// A process has one Client: one producer, one address (a random key of the
// replies topic), one reader of the replies partition that the address belongs
// to, read from its end. Each request has a number, which comes back as the
// reply's id; a bounded table says who waits for it. There is no goroutine per
// request: the reader hands the reply's bytes to the waiter, which decodes
// them.
//
// Replies are a courtesy: one can be lost (the client loses its position, the
// records expired), and a caller waits with a deadline. What was asked
// by command is safe in Kafka and deduplicated by its id, so sending it again under
// the same id is harmless: a call that waits for a decision does.
package request
