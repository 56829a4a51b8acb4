// Package tunnel is how the messages of a tunnel get from one end to the other: between a client of the gateway and a running attempt
// at a runner, each once and in order, whatever becomes of the sockets and executors in between (decision 0104).
//
//	stream.go   both directions of a request as one end has them: indexes, what is not acknowledged, windows
//	caller.go   the gateway's end: a Stream, and where the runner has its socket
//
// The runner's end is in package runner of internal, around the same Stream. Both are pure: what has happened and the time go in, messages and
// other actions come out.
package tunnel
