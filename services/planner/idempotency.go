package planner

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// maxIdempotencyKey bounds what a policy may give, in bytes: it goes with each attempt, as a header too.
const maxIdempotencyKey = 512

// idempotencyKey is what the next attempt of a runnable and all that follow are given by its policy, evaluated
// once; empty: they have it, or the policy gives none.
func (t *turn) idempotencyKey(c *definition.Component, r *runnable, pol policy.Policy) (key string, failure *events.TaskError) {
	if pol.IdempotencyKey == "" || r.Key != "" {
		return "", nil
	}
	return t.keyOf(c, r, "idempotency_key: ", pol.IdempotencyKey, checkIdempotencyKey)
}

// checkIdempotencyKey refuses what no header can carry.
func checkIdempotencyKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("it is empty")
	case len(key) > maxIdempotencyKey:
		return fmt.Errorf("it has %d bytes, the limit is %d", len(key), maxIdempotencyKey)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%q has a control character", events.Cut(key, 100))
	}
	return nil
}

// keyOfCalls is the idempotency key of a runnable's attempts: its policy's, else one that no other runnable has.
func (w *workflow) keyOfCalls(id events.RunnableID, r *runnable) string {
	if r.Key != "" {
		return r.Key
	}
	var room [128]byte
	b := append(room[:0], w.id...)
	run := w.head.Run
	if o := w.setup().Origin; o != nil {
		run = *o
	}
	b = strconv.AppendUint(append(b, '/'), run.Epoch, 10)
	b = strconv.AppendUint(append(b, '.'), run.Seq, 10)
	b = strconv.AppendUint(append(b, '/', 'r'), uint64(id), 10)
	return string(b)
}
