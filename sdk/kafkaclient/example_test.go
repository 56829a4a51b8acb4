package kafkaclient_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/heddle-run/heddle/internal/dev/devtest"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
)

func TestMain(m *testing.M) { devtest.Main(m) }

func ExampleNew() {
	ctx := context.Background()
	c, err := kafkaclient.New(ctx, kafkaclient.Options{Brokers: devtest.Running().Brokers})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	const double = `{"name": "double", "components": {"twice": {"expr": "input * 2"}}}`
	run, err := c.Start(ctx, double, 21, client.StartOptions{})
	if err != nil {
		log.Fatal(err)
	}
	n, err := client.Result[int](ctx, run, "twice")
	fmt.Println(n, err)
	// Output: 42 <nil>
}
