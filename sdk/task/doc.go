// Package task is what a workflow's tasks are to Go programs: typed values that
// worker, builder and test share, and what a task's function can say and ask.
//
// A task is defined once, where everybody who names it can import it:
//
//	var Price = task.Define[Order, Quote]("orders.price")
//
// and is served by a worker:
//
//	worker.Handle(w, Price, func(ctx context.Context, o Order) (Quote, error) { … })
//
// The function's context ends when the attempt is cancelled, its time is over
// or the worker must stop. What it returns as an error fails the attempt; the
// scheduler policy of the step decides what happens then. An *Error says more about
// the failure, ErrPending that the work goes on elsewhere.
package task
