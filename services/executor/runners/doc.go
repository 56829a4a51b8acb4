// Package runners is the executor's side of the sockets of runners: programs of users that offer slots to a pool and run
// attempts there (package frames has the language).
//
// It holds no truth. What a runner says goes to two places (decision 0102): what became of an attempt to the inbox of the
// attempt's workflow, by its token; that the attempt has begun or stopped, and all about the runner itself, to the inbox of the pool,
// an entity of a planner. What the pool wants done comes back on topic runner-commands, addressed to the executor and its number of the
// socket.
//
//	route.go      who may connect, and with which parameters
//	session.go    one socket from its first frame to its end
//	receive.go    what each frame of a runner comes to
//	events.go     what became of attempts, as messages
//	report.go     what the pool is told, one report of a socket at a time, and what is acknowledged to the runner
//	commands.go   what the pool has done
//	tunnel.go     messages between runners and gateways, as they are
//	writer.go     frames to the runner, within bounds
//	keeper.go     all that is done because of the time
//
// A socket has one goroutine that reads, and one that writes while there is something to write. No frame has a timer: one goroutine looks
// after the times of all sockets.
package runners
