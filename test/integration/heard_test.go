//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/runtime"
)

// heard is what readiness has published of a deployment since a test listens, change after change.
type heard struct {
	t *testing.T

	mu    sync.Mutex
	words []word
}

// word is the readiness of all partitions, and when it was published.
type word struct {
	at time.Time
	runtime.Aggregate
}

// says reports whether a reason or a warning has all of some texts.
func (w *word) says(texts ...string) bool {
	return slices.ContainsFunc(slices.Concat(w.Reasons, w.Warnings), func(line string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
	})
}

// hear listens to what readiness publishes, until the test ends.
func (d *deployment) hear() *heard {
	d.t.Helper()
	h := &heard{t: d.t}
	cl := d.client(kgo.ConsumeTopics(d.names.Readiness()))
	ctx, stop := context.WithCancel(context.Background())
	var listening sync.WaitGroup
	listening.Go(func() {
		for ctx.Err() == nil {
			cl.PollFetches(ctx).EachRecord(h.take)
		}
	})
	d.t.Cleanup(func() { stop(); listening.Wait() })
	return h
}

func (h *heard) take(r *kgo.Record) {
	if string(r.Key) != runtime.AggregateKey {
		return
	}
	w := word{at: r.Timestamp}
	if err := json.Unmarshal(r.Value, &w.Aggregate); err != nil {
		h.t.Errorf("readiness has published %s: %v", r.Value, err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.words = append(h.words, w)
}

// since are the words from a time on.
func (h *heard) since(t time.Time) []word {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.words), func(w word) bool { return w.at.Before(t) })
}

// appears waits until a reason or a warning with all of some texts is shown, and tells how long that took.
func (h *heard) appears(texts ...string) {
	h.t.Helper()
	began := time.Now()
	h.newest("readiness says "+strings.Join(texts, "…"), func(w *word) bool { return w.says(texts...) })
	h.t.Logf("SHOWN after %s: %s", time.Since(began).Round(time.Millisecond), strings.Join(texts, "…"))
}

// vanishes waits until no reason and no warning has all of some texts.
func (h *heard) vanishes(texts ...string) {
	h.t.Helper()
	began := time.Now()
	h.newest("readiness says no more "+strings.Join(texts, "…"), func(w *word) bool { return !w.says(texts...) })
	h.t.Logf("GONE after %s: %s", time.Since(began).Round(time.Millisecond), strings.Join(texts, "…"))
}

// has fails the test if something has not been shown since a time, however shortly.
func (h *heard) has(since time.Time, texts ...string) {
	h.t.Helper()
	if !slices.ContainsFunc(h.since(since), func(w word) bool { return w.says(texts...) }) {
		h.t.Errorf("readiness has never said %s", strings.Join(texts, "…"))
	}
}

func (h *heard) newest(what string, ok func(*word) bool) {
	h.t.Helper()
	eventually(h.t, heardLimit, what, func() error {
		words := h.since(time.Time{})
		if len(words) == 0 {
			return fmt.Errorf("it has published nothing")
		}
		if newest := words[len(words)-1]; !ok(&newest) {
			return fmt.Errorf("it says %q and %q", newest.Reasons, newest.Warnings)
		}
		return nil
	})
}

// heardLimit has room for the warning that takes longest: what grows is watched for a minute.
const heardLimit = 2 * time.Minute
