// Package embedded runs workflows inside a Go program: all services of Heddle and a broker
// in the program's own process, its tasks beside them, and a client of it. Nothing listens
// on a port.
//
//	r, err := embedded.Open(ctx, embedded.Options{Dir: "data", Tasks: func(w *worker.Worker) {
//		worker.Handle(w, Price, price)
//	}})
//	…
//	defer r.Close()
//	run, err := r.Client.Start(ctx, definition, order, client.StartOptions{})
//
// With Worker.Brokers and Client.URL in place of Dir the same program takes part in a
// cluster. docs/embedded.md tells what it keeps, what it costs, and what it does not do.
package embedded
