package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing/synctest"
	"time"
)

// move is something that may happen next.
type move struct {
	what     func() string // it is asked of the one that is chosen only
	workflow string        // that it is for; "": it is not said
	stream   *stream
	noise    bool
	do       func()
}

// advance lets one thing happen: an operation at the cluster or its answer, a
// step of a worker, or time.
func (w *world) advance() {
	settle()
	w.injector.buryAborted()
	w.overdue()
	w.members.grant()
	w.c.mu.Lock()
	w.c.brokers.overdue(time.Now())
	moves := w.moves()
	if len(moves) == 0 || w.rng.IntN(8) == 0 {
		w.c.mu.Unlock()
		w.pass(len(moves) == 0)
		return
	}
	m := moves[w.rng.IntN(len(moves))]
	w.history.add(w.step, time.Since(w.began), w.aboutMove(m), m.noise, "%s (of %d)", m.what(), len(moves))
	after := w.do(m)
	w.c.mu.Unlock()
	if after != nil {
		after()
	}
}

// settle lets everything that was set off come to rest, and gives what comes next
// a time of its own: what two acts or answers set off does not meet.
func settle() {
	time.Sleep(time.Nanosecond)
	synctest.Wait()
}

// do makes a move under the cluster's lock; what it returns is done without it.
func (w *world) do(m move) (after func()) {
	w.answering = nil
	m.do()
	return w.answering
}

// pass lets time pass.
func (w *world) pass(idle bool) {
	d := time.Duration(1+w.rng.IntN(1000)) * time.Microsecond
	switch r := w.rng.IntN(10); {
	case r < 5 || idle:
		d = time.Duration(1+w.rng.IntN(60)) * time.Millisecond
	case r == 9:
		d = time.Duration(50+w.rng.IntN(400)) * time.Millisecond
	}
	w.history.add(w.step, time.Since(w.began), Subject{}, true, "%v pass", d)
	time.Sleep(d)
}

// overdue does what is due by the clock.
func (w *world) overdue() {
	now := time.Now()
	for {
		i := slices.IndexFunc(w.later, func(d due) bool { return d.now(now) })
		if i < 0 {
			return
		}
		d := w.later[i]
		w.later = slices.Delete(w.later, i, i+1)
		w.note("%s", d.what)
		d.do()
		settle()
	}
}

// moves are all that may happen now, in an order of their own.
func (w *world) moves() []move {
	all := w.possible[:0]
	for _, s := range w.c.sorted() {
		all = w.streamMoves(all, s)
	}
	now := time.Now()
	for _, t := range w.workers {
		if t != nil {
			all = t.moves(all, now)
		}
	}
	all = w.pooling.moves(all, now)
	w.possible = all
	return all
}

// streamMoves adds what may happen to the operations of a stream: the next one
// may happen at the cluster, and the oldest one that has happened be answered.
func (w *world) streamMoves(all []move, s *stream) []move {
	for len(s.asked) > 0 && s.asked[0].gone && (s.kind == fetching || s.kind == question) {
		s.asked = s.asked[1:] // it was never there
	}
	if len(s.asked) == 0 {
		return all
	}
	silent := s.owner != nil && (s.owner.dead || s.owner.silent())
	first := s.asked[0]
	if first.executed && (first.gone || !silent) {
		all = append(all, move{what: func() string { return fmt.Sprintf("%s #%d is answered: %v", s.name, s.done+1, first.err) }, stream: s, noise: first.err == nil, do: func() { w.answer(s) }})
	}
	next := s.next()
	if next == nil || !next.isReady() || silent && s.kind != sending && s.kind != txnStep {
		return all
	}
	if silent && !next.gone && w.rng.IntN(20) > 0 { // most of what it sends waits with it
		return all
	}
	what := func() string {
		return fmt.Sprintf("%s #%d %s", s.name, s.done+1+slices.Index(s.asked, next), next.what)
	}
	return append(all, move{what: what, stream: s, noise: s.quiet() || s.kind == sending || s.kind == internal || next.partial(), do: func() { w.happen(s, next) }})
}

// next is the first operation that has not happened.
func (s *stream) next() *op {
	for _, o := range s.asked {
		if !o.executed {
			return o
		}
	}
	return nil
}

// happen lets an operation happen at the cluster; mostly it is answered at once.
func (w *world) happen(s *stream, o *op) {
	if o.given() && w.rng.IntN(2) == 0 { // it had not left
		o.executed, o.err = true, errGone
	} else {
		o.err = o.exec()
		o.executed = true
	}
	if o.err != nil {
		w.noteOf(w.aboutMove(move{stream: s}), "  %v: %s, %s", o.err, s.name, o.what)
	}
	if s.asked[0] == o && (o.gone || s.kind == fetching || w.rng.IntN(4) > 0 && !(s.owner != nil && s.owner.silent())) {
		w.answer(s)
	}
}

// given reports whether its client has given an operation up.
func (o *op) given() bool { return o.gone || o.ctx != nil && o.ctx.Err() != nil }

// answer tells the client what became of its oldest operation.
func (w *world) answer(s *stream) {
	o := s.asked[0]
	w.c.drop(s)
	if o.done != nil {
		w.answering = func() { o.done(o.err) }
	}
}

// note writes a line of the history.
func (w *world) note(format string, args ...any) {
	w.noteOf(Subject{}, format, args...)
}

// noteOf writes a line about somebody.
func (w *world) noteOf(about Subject, format string, args ...any) {
	w.history.add(w.step, time.Since(w.began), about, false, format, args...)
}

// tell writes a line that follows from others, for people.
func (w *world) tell(about Subject, format string, args ...any) {
	if w.history.keep {
		w.history.tell(w.step, time.Since(w.began), about, fmt.Sprintf(format, args...))
	}
}

func comparePlaces(a, b place) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
