package sim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// stream is the operations of one client on one thing, in order: they happen at
// the cluster in order and are answered in order. Its name says who and what, so
// that the same seed meets the same streams whatever the goroutines did.
type stream struct {
	name    string
	owner   *node // nil: users and the cluster itself
	kind    kind
	done    int  // operations that were answered or given up
	listed  bool // among the cluster's active ones
	asked   []*op
	journal *producer // that of a journal; nil: another one
}

// kind says what may happen to the operations of a stream.
type kind int

const (
	question kind = iota // changes nothing; may be answered late
	fetching             // a poll: not answered before there is something
	sending              // a record
	txnStep              // of a transaction
	internal             // of the cluster
)

// op is one operation.
type op struct {
	what     string
	ctx      context.Context // of a record; nil: none
	ready    func() bool     // nil: at once
	exec     func() error    // at the cluster
	done     func(error)     // to the client; nil: nobody waits
	gone     bool            // nobody waits any more: it may still happen, or not
	executed bool
	err      error
}

func (o *op) isReady() bool { return o.ready == nil || o.ready() }

// partial reports whether an operation is a part of a transaction, whose end is told.
func (o *op) partial() bool {
	return o.what == "positions" || strings.HasPrefix(o.what, "produce ")
}

// quiet reports whether what is asked changes nothing.
func (s *stream) quiet() bool { return s.kind == question || s.kind == fetching }

func (s *stream) String() string { return s.name }

// add registers an operation. The cluster's lock is held.
func (c *cluster) add(owner *node, name string, k kind, o *op) {
	s := c.streams[name]
	if s == nil {
		s = &stream{name: name, owner: owner, kind: k}
		c.streams[name] = s
	}
	s.asked = append(s.asked, o)
	if !s.listed {
		s.listed = true
		i, _ := slices.BinarySearchFunc(c.active, name, func(s *stream, name string) int { return cmp.Compare(s.name, name) })
		c.active = slices.Insert(c.active, i, s)
	}
}

// drop forgets the first operation.
func (c *cluster) drop(s *stream) {
	s.asked = s.asked[1:]
	s.done++
}

// sorted are the streams with operations, by name, until the next operation is added.
func (c *cluster) sorted() []*stream {
	c.active = slices.DeleteFunc(c.active, func(s *stream) bool {
		s.listed = len(s.asked) > 0
		return !s.listed
	})
	return c.active
}

// ask registers an operation of a process and waits for its answer, at most
// until ctx ends: then it may still happen.
func (n *node) ask(ctx context.Context, stream string, k kind, ready func() bool, exec func() error, what string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	answer := make(chan error, 1)
	o := &op{what: what, ready: ready, exec: exec, done: func(err error) { answer <- err }}
	n.c.mu.Lock()
	if n.dead {
		n.c.mu.Unlock()
		return errDead
	}
	n.c.add(n, n.name+"/"+who(ctx)+"/"+stream, k, o)
	n.c.mu.Unlock()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		n.c.mu.Lock()
		o.gone, o.done = true, nil
		n.c.mu.Unlock()
		return ctx.Err()
	}
}

var errGone = errors.New("given up before it was sent")

type whoKey struct{}

// as marks everything that is asked under ctx as somebody's, so that the streams
// of the partitions of one process have names of their own.
func as(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, whoKey{}, who)
}

func who(ctx context.Context) string {
	if s, ok := ctx.Value(whoKey{}).(string); ok {
		return s
	}
	return "-"
}

func partitionName(p int32) string { return "p" + strconv.Itoa(int(p)) }
