package embedded_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/embedded"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

// Greet is shared by the program and its tests.
var Greet = task.Define[string, string]("greeter.greet")

func tasks(w *worker.Worker) {
	worker.Handle(w, Greet, func(_ context.Context, name string) (string, error) { return "hello " + name, nil })
}

const greeting = `{"name": "greeting", "components": {"said": {"step": "greeter.greet"}}}`

func Example() {
	ctx := context.Background()
	r, err := embedded.Open(ctx, embedded.Options{
		Memory: true, // Dir: "data" keeps what there is
		Tasks:  tasks,
		Worker: worker.Options{Logger: slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		log.Fatal(err)
	}
	run, err := r.Client.Start(ctx, greeting, "ann", client.StartOptions{Wait: client.UntilDrained})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Result[string](ctx, run, "said"))
	fmt.Println(r.Close())
	// Output:
	// hello ann <nil>
	// <nil>
}

// options are where a program's workflows live: here, or in the cluster that its
// environment names. Nothing else of the program knows.
func options() embedded.Options {
	if brokers := os.Getenv("BROKERS"); brokers != "" {
		return embedded.Options{
			Tasks:  tasks,
			Worker: worker.Options{Brokers: []string{brokers}},
			Client: client.Options{URL: os.Getenv("GATEWAY"), APIKey: os.Getenv("API_KEY")},
		}
	}
	return embedded.Options{Tasks: tasks, Dir: "data"}
}

func ExampleOpen() {
	r, err := embedded.Open(context.Background(), options())
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
}

// A program that serves until it is told to end, or something breaks.
func ExampleRunner_Wait() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	r, err := embedded.Open(ctx, options())
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	if err := r.Wait(ctx); err != nil {
		log.Print(err)
	}
}

func ExampleRunner_Close() {
	ctx := context.Background()
	r, err := embedded.Open(ctx, embedded.Options{Memory: true})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Close(), r.Close())
	// Output: <nil> <nil>
}
