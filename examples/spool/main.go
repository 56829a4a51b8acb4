// Spool hands the attempts of the queue "print" over to whoever empties a directory.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/heddle-run/heddle/examples/spool/box"
	"github.com/heddle-run/heddle/sdk/worker"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := worker.New(worker.Options{}) // without brokers it finds a running `heddle dev`
	if err != nil {
		return err
	}
	worker.Serve(w, "print", box.Box(os.Args[1]), worker.ServeOptions{})
	return w.Run(ctx)
}
