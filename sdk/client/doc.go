// Package client starts workflows, feeds and controls them, and reads what
// became of them.
//
// A Client speaks HTTP to a gateway, or, given brokers, Kafka itself: commands
// go straight to the topic, reads are answered by the owning planner. Both ways
// give the same answers; listing and waiting by status need a gateway.
//
//	c, err := client.New(client.Options{}) // finds a running `heddle dev`
//	run, err := c.Start(ctx, "order-fulfilment", order)
//	invoice, err := client.Result[Invoice](ctx, run, "invoice")
//
// Every call is bounded by its context. A refusal is an *Error whose Code is
// stable; errors.Is(err, client.ErrNotFound) and the like compare codes.
package client
