// Package worker runs tasks of workflows in a Go program. A Worker is a member
// of the consumer groups of its tasks' queues: it takes attempts straight from
// Kafka, a number of them at a time, and reports how they ended.
//
//	w, err := worker.New(worker.Options{}) // finds a running `heddle dev`
//	…
//	worker.Handle(w, Price, price)
//	err = w.Run(ctx)
//
// Attempts run at least once: a worker that dies is noticed and its attempts
// run again, here or elsewhere. An outcome counts once.
package worker
