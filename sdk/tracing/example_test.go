package tracing_test

import (
	"context"
	"fmt"
	"log"

	"github.com/heddle-run/heddle/sdk/tracing"
	"github.com/heddle-run/heddle/sdk/worker"
)

// The environment has no OTEL_ variables here, so there is nobody to tell, and the worker makes no spans.
func ExampleFromEnv() {
	ctx := context.Background()
	provider, end, err := tracing.FromEnv(ctx, "shop", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := end(ctx); err != nil {
			log.Print(err)
		}
	}()
	_, err = worker.New(worker.Options{Brokers: []string{"localhost:4092"}, TracerProvider: provider})
	fmt.Println(provider == nil, err)
	// Output: true <nil>
}
