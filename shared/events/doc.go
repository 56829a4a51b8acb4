// Package events is the language of Heddle: the commands that clients send,
// the messages between services, the events and records of the journal, and
// their ids.
//
// Public records (commands, replies, status, dlq) are JSON. Internal ones of
// high volume (journal, inbox, tasks) are Protocol Buffers, described once per
// type by its Fields method (package wire); the published schema is generated
// from these descriptions into heddle.proto. Field and event numbers are never
// reused. The package is pure.
package events
