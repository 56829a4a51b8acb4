package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/frames"

	core "github.com/heddle-run/heddle/internal/runner"
)

type attemptKey struct{}

// Keys are the keys and values that an attempt keeps at the server: a later attempt of the same step finds them, and
// they are gone when the step has ended. Values are JSON. One request has at most 128 keys, each of at most 2,048 bytes,
// with values of at most 131,072 bytes; the attempts of a step keep at most 128 keys, of 512 KiB with their values.
//
// Each method fails with ErrUnknown when the socket broke before the answer came, with ErrTimeout after Times.KV, with
// a *KeysError when the server refuses, and when its context ends.
type Keys struct{ attempt *attempt }

// Errors of Keys.
var (
	ErrUnknown = core.ErrKvUnknown // whether it was done is unknown
	ErrTimeout = core.ErrKvTimeout // likewise, if the runner was connected
	ErrNoKeys  = errors.New("only the context of a task's function that a runner has called has keys")
)

// KeysError is why the server has not done what was asked.
type KeysError struct {
	Code    string // too_many_keys, key_length, value_too_large, invalid_value, unknown_attempt, store_full, unavailable
	Message string
}

// Error implements error.
func (e *KeysError) Error() string { return e.Code + ": " + e.Message }

// Entry is a key and its value.
type Entry struct {
	Key   string
	Value json.RawMessage
}

// ListOptions say which keys are listed.
type ListOptions struct {
	Prefix  string // of the keys; empty: all
	Reverse bool   // the last come first
	Limit   int    // at most 128; 0: 128
}

// KeysOf are the keys of the attempt whose function has the context.
func KeysOf(ctx context.Context) Keys {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return Keys{a}
}

// Get is the values of keys, in the order of the keys; those that have none are left out.
func (k Keys) Get(ctx context.Context, keys ...string) ([]Entry, error) {
	return k.ask(ctx, &frames.KvGet{Keys: keys})
}

// List is keys in order, with their values.
func (k Keys) List(ctx context.Context, o ListOptions) ([]Entry, error) {
	if o.Limit < 0 || o.Limit > frames.MaxKvKeys {
		return nil, fmt.Errorf("ListOptions.Limit is %d, want 0 to %d", o.Limit, frames.MaxKvKeys)
	}
	return k.ask(ctx, &frames.KvList{Prefix: o.Prefix, Reverse: o.Reverse, Limit: uint32(o.Limit)})
}

// Put gives values to keys, all or none.
func (k Keys) Put(ctx context.Context, entries ...Entry) error {
	put := &frames.KvPut{Entries: make([]frames.KvEntry, len(entries))}
	for i, e := range entries {
		put.Entries[i] = frames.KvEntry(e)
	}
	_, err := k.ask(ctx, put)
	return err
}

// Delete takes keys and their values away, all or none.
func (k Keys) Delete(ctx context.Context, keys ...string) error {
	_, err := k.ask(ctx, &frames.KvDelete{Keys: keys})
	return err
}

// ask asks and waits for the answer.
func (k Keys) ask(ctx context.Context, inner frames.KvRequest) ([]Entry, error) {
	if k.attempt == nil {
		return nil, ErrNoKeys
	}
	if err := inner.Check(); err != nil {
		return nil, &KeysError{err.Code, err.Message}
	}
	l, answer := k.attempt.loop, make(chan core.Answer, 1)
	var id uint64
	if !l.post(func() { id = l.ask(k.attempt.task.Token, inner, answer) }) {
		return nil, core.ErrOver
	}
	select {
	case a := <-answer:
		return entries(a)
	case <-ctx.Done():
		l.post(func() { l.forget(id) })
		return nil, context.Cause(ctx)
	case <-l.done:
		return nil, core.ErrOver
	}
}

func entries(a core.Answer) ([]Entry, error) {
	if a.Err != nil {
		return nil, a.Err
	}
	if e := a.Response.Error; e != nil {
		return nil, &KeysError{e.Code, e.Message}
	}
	all := make([]Entry, len(a.Response.Entries))
	for i, e := range a.Response.Entries {
		all[i] = Entry(e)
	}
	return all, nil
}

func (l *loop) ask(token string, inner frames.KvRequest, answer chan<- core.Answer) uint64 {
	id := l.session.Request(time.Now(), token, inner)
	l.answers[id] = answer
	return id
}

func (l *loop) forget(id uint64) {
	l.session.Forget(id)
	delete(l.answers, id)
}

func (l *loop) answer(a core.Answer) {
	if waiting := l.answers[a.Request]; waiting != nil {
		waiting <- a
		delete(l.answers, a.Request)
	}
}
