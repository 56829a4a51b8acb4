package main

import (
	"context"
	_ "embed"
	"testing"
	"time"

	"github.com/heddle-run/heddle/examples/hello/greet"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/worker"
)

//go:embed hello.yaml
var definition []byte

func TestHelloIsSaid(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d, err := dev.Start(ctx, dev.Options{Memory: true, Partitions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(ctx, client.Options{URL: d.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Define(ctx, "hello", definition); err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Options{Brokers: d.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	worker.Handle(w, greet.Task, greet.Greet)
	working, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(working) }()
	run, err := c.Start(ctx, "hello", greet.Person{Name: "ann"}, client.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if said, err := client.Result[string](ctx, run, "said"); err != nil || said != "hello ann!" {
		t.Errorf("%q, %v", said, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
