package postgres_test

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/postgres"
)

// Several deployments keep their runs in one database, each in a schema of its own.
func ExampleNew() {
	s, err := postgres.New(context.Background(), postgres.Options{
		URL:       os.Getenv("RUNS_URL"),
		Schema:    "heddle_staging",
		Configure: func(c *pgxpool.Config) { c.MaxConns = 20 },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
}

func ExampleOpen() {
	store.Register("postgres", postgres.Open)
	s, err := store.Open(context.Background(), "postgres://heddle@db.internal/runs")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
}
