// Command terminals plays a coding agent in a terminal: it takes a line, works on it, and replies by the
// token that the line has.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/task"
)

// reply is where the text of terminals.yaml has the token.
var reply = regexp.MustCompile(`^(.*)\. When it is done, run: heddle complete (\S+) `)

// agent works on one task after the other.
type agent struct {
	client *client.Client
	pane   string
	takes  time.Duration // for a task
	out    io.Writer
}

// said is what an agent replies.
type said struct {
	Task string `json:"task"`
	Pane string `json:"pane"`
}

// run reads tasks until there are no more, or ctx ends.
func (g *agent) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	for fmt.Fprint(g.out, "> "); lines.Scan(); fmt.Fprint(g.out, "> ") {
		found := reply.FindStringSubmatch(lines.Text())
		if found == nil {
			fmt.Fprintln(g.out, "That is no task.")
			continue
		}
		if err := g.work(ctx, found[1], found[2]); err != nil {
			return err
		}
	}
	return lines.Err()
}

// work does nothing for a while, and replies. A reply that comes too late, or twice, is no failure of the agent.
func (g *agent) work(ctx context.Context, job, token string) error {
	fmt.Fprintf(g.out, "Working on %q.\n", job)
	select {
	case <-time.After(g.takes):
	case <-ctx.Done():
		return ctx.Err()
	}
	var err error
	if strings.Contains(job, "impossible") {
		_, err = g.client.Fail(ctx, token, &task.Error{Type: "impossible", Message: "it cannot be done", NonRetryable: true})
	} else {
		_, err = g.client.Complete(ctx, token, said{Task: job, Pane: g.pane})
	}
	switch {
	case errors.Is(err, client.ErrAttemptClosed):
		fmt.Fprintln(g.out, "Nobody waits for that any more.")
		return nil
	case err != nil:
		return fmt.Errorf("replying: %w", err)
	}
	fmt.Fprintln(g.out, "Replied.")
	return nil
}

// play is an agent at the terminal of the process.
func play(url string, takes time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c, err := client.New(ctx, client.Options{URL: url})
	if err != nil {
		return err
	}
	defer c.Close()
	return (&agent{client: c, pane: os.Getenv("TMUX_PANE"), takes: takes, out: os.Stdout}).run(ctx, os.Stdin)
}

func main() {
	url := flag.String("url", "http://127.0.0.1:4080", "address of the gateway")
	takes := flag.Duration("takes", 3*time.Second, "time for a task")
	flag.Parse()
	if err := play(*url, *takes); err != nil {
		log.Fatal(err)
	}
}
