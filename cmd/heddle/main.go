// Command heddle is the one binary of Heddle: its services, the development
// deployment, and the command line for people and scripts.
//
// Exit codes: 0 done; 1 a workflow failed or a command was refused; 2 wrong
// usage; 3 the deployment cannot be reached; 130 interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}
