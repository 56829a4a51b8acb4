// Package runner runs tasks of workflows in a Go program that sees Heddle over one WebSocket only: a
// runner offers slots to a pool, and runs the attempts that the pool hands it. Where the program can
// reach Kafka, package worker is the shorter way; the functions of tasks are the same.
//
//	r, err := runner.New(runner.Options{URL: "https://heddle.example", Pool: "images", Key: "node-7"})
//	…
//	runner.Handle(r, Resize, resize)
//	err = r.Run(ctx)
//
// The session outlives the socket: attempts run on while it is away, what they report waits, and the
// runner connects again. After a time that the server says (15 s) attempts count as lost on both sides,
// and the functions' contexts end. Attempts run at least once; an outcome counts once.
package runner
