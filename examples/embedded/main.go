// Command embedded runs a workflow inside its own process.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/heddle-run/heddle/examples/hello/greet"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/embedded"
	"github.com/heddle-run/heddle/sdk/worker"
)

func main() {
	const hello = `{"name": "hello", "components": {"greet": {"step": "hello.greet"}}}`
	ctx := context.Background()
	tasks := func(w *worker.Worker) { worker.Handle(w, greet.Task, greet.Greet) }
	r, err := embedded.Open(ctx, embedded.Options{Dir: "embedded.data", Tasks: tasks})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	run, err := r.Client.Start(ctx, hello, greet.Person{Name: "ann"}, client.StartOptions{Wait: client.UntilDrained})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(client.Result[string](ctx, run, "greet"))
}
