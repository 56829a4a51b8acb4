// Package executor is for handing the work of attempts over to something else: the interface of an adapter, and what
// its methods take and return. docs/executors.md says how to write one; package executortest holds it against the contract.
//
// A program registers its adapters, each with a queue, in a worker that takes the attempts of that queue:
//
//	w, err := worker.New(worker.Options{Brokers: brokers})
//	worker.Serve(w, "jobs", adapter, worker.ServeOptions{})
//	err = w.Run(ctx)
//
// What is promised, whatever dies: an attempt is handed over under a key that the planner knows, so that whoever gets the
// attempt after its executor has died finds the work again and does not begin it twice; it ends once, with what the
// adapter says of it; and when it is cancelled, so is the work.
package executor
