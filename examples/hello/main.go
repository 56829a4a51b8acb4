// Command hello is the smallest worker: it serves the task hello.greet.
package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"strings"
	"syscall"

	"github.com/heddle-run/heddle/examples/hello/greet"
	"github.com/heddle-run/heddle/sdk/worker"
)

func main() {
	brokers := flag.String("brokers", "127.0.0.1:4092", "Kafka brokers, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	w, err := worker.New(worker.Options{Brokers: strings.Split(*brokers, ",")})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, greet.Task, greet.Greet)
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
