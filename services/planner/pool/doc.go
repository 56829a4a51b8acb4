// Package pool is the machine of entities pool:NAME. A pool has the sessions of its runners, which are programs of
// users that offer slots over a socket, and a queue of attempts; it gives each attempt a slot, tells the runner by the executor
// that has its socket, and tells the attempt's workflow when nobody will. What an attempt came to the workflow learns
// from the executor, without the pool: here it only frees a slot, once.
package pool
