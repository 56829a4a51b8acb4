package events

import "github.com/heddle-run/heddle/shared/wire"

//go:generate go run ./protogen heddle.proto

// Schema is the proto3 file of every record in Protocol Buffers: the journal,
// the inbox, tasks and their control, queries, and what
// gateways and executors pass on. It is published as
// heddle.proto for readers in other languages, for whom tokens are bytes.
func Schema() string {
	return wire.Schema("heddle.v1", &Record{}, &Inbox{}, &Task{}, &TaskCancel{}, &Query{}, &TunnelRecord{})
}
