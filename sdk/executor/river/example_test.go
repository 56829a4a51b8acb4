package river_test

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/heddle-run/heddle/sdk/executor/river"
	"github.com/heddle-run/heddle/sdk/worker"
)

// A program that hands the attempts of the queue "jobs" over to River.
func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	jobs, err := river.New(river.Options{Pool: pool})
	if err != nil {
		log.Fatal(err)
	}
	w, err := worker.New(worker.Options{Brokers: []string{"kafka-1:9092"}})
	if err != nil {
		log.Fatal(err)
	}
	worker.Serve(w, "jobs", jobs, worker.ServeOptions{})
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
