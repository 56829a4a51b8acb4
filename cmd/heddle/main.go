// Command heddle is the one binary of Heddle: its services, the development
// deployment, and the command line for people and scripts.
//
// exit.go has the exit codes, and docs/operations.md tells of them.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// gcPercent lets the heap grow to five times of what is live before it is
// collected. The live heap is small and bounded by caches, while a loaded
// planner allocates fast: at Go's default a third of its time goes to collecting.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
