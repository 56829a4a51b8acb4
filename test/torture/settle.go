package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
)

// unsettled is a workflow that has not ended, and why not.
type unsettled struct{ id, why string }

// settle waits until everything in the book that exists has ended.
func (a *accountant) settle(ctx context.Context, limit time.Duration) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		open := a.look(ctx)
		if len(open) == 0 {
			fmt.Printf("everything has ended %s after the last fault\n", time.Since(began).Round(time.Millisecond))
			return nil
		}
		select {
		case <-ctx.Done():
			for _, u := range open {
				a.unsettled = append(a.unsettled, u.id)
			}
			return fmt.Errorf("%d workflows have not ended within %s, as %s (%s)", len(open), limit, open[0].id, open[0].why)
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// lookers is how many questions are asked at a time.
const lookers = 32

// look asks for everything that was not seen to have ended, and lists what has
// not, and what of the acknowledged is unknown.
func (a *accountant) look(ctx context.Context) []unsettled {
	ids := make(chan string)
	var mu sync.Mutex
	var open []unsettled
	var asking sync.WaitGroup
	for range lookers {
		asking.Go(func() {
			for id := range ids {
				if why := a.ask(ctx, id); why != "" {
					mu.Lock()
					open = append(open, unsettled{id, why})
					mu.Unlock()
				}
			}
		})
	}
	a.book.each(func(id string, e entry) {
		if !e.ended {
			ids <- id
		}
	})
	close(ids)
	asking.Wait()
	return open
}

// ask says why a workflow has not ended; empty when it has, or when it does not
// exist and was never acknowledged.
func (a *accountant) ask(ctx context.Context, id string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	w, err := a.kafka.Get(ctx, id)
	switch {
	case errors.Is(err, client.ErrNotFound):
		if a.book.isAcknowledged(id) {
			return "acknowledged, but not found"
		}
		return ""
	case err != nil:
		return err.Error()
	case w.Status != "completed":
		return string(w.Status)
	}
	a.book.end(id)
	return ""
}
