// Package runner decides what a runner does next: frames of the server, ends of attempts and the time
// go in, frames and other actions come out. It is pure: it reads no clock and owns no socket, which
// package sdk/runner does around it.
//
// A Session is used by one goroutine. Each of its methods is one thing that has happened; what is to
// be done for it is then taken with Take, in order. Between two of them Next says when Wake is due.
package runner
