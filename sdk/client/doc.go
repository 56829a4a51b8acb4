// Package client starts workflows, feeds and controls them, and reads what
// became of them.
//
// A Client speaks HTTP to a gateway. One of sdk/kafkaclient speaks Kafka itself, and
// gives the same answers; listing needs a gateway. This package links no Kafka client.
//
//	c, err := client.New(ctx, client.Options{}) // finds a running `heddle dev`
//	run, err := c.Start(ctx, "order-fulfilment", order, client.StartOptions{})
//	invoice, err := client.Result[Invoice](ctx, run, "invoice")
//
// Every call is bounded by its context; a command whose caller gave up may be
// carried out all the same. Over Kafka a call is ErrUnavailable if the brokers
// have not taken it within a minute. A refusal is an *Error whose Code is
// stable; errors.Is(err, client.ErrNotFound) and the like compare codes.
package client
