package loop

import (
	"cmp"
	"slices"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// watch is every open attempt that somebody has or should get, so that nothing
// hangs (E3). It is made again from the Attempt rows at recovery.
type watch struct {
	*Processor
	open  map[attemptKey]*watched
	next  int64               // Unix ms of the next sweep
	asked map[string][]lookUp // queues whose offsets are asked for, and for whom
	again []*again            // oldest first

	unknown map[string]bool // queues whose offsets could not be told, which is in the log
	backlog backlog
	spare   spares[watched]
}

type attemptKey struct {
	workflow string
	runnable events.RunnableID
}

// lookUp is an attempt whose queue is asked for: it, and where its task record was then.
type lookUp struct {
	attemptKey
	decided events.Position
	offset  int64
}

func compareAttempts(a, b attemptKey) int {
	return cmp.Or(cmp.Compare(a.workflow, b.workflow), cmp.Compare(a.runnable, b.runnable))
}

// watched is one open attempt.
type watched struct {
	key       attemptKey
	row       machine.Attempt
	partition int32
	offset    int64  // of its task record; -1 while that is not acknowledged
	heard     int64  // Unix ms: notified ones are heard of since
	looked    int64  // Unix ms: pending ones are released or were looked up since; of those in pools the pool was asked then
	asked     int    // how often
	placed    bool   // it was looked at whether it is where the attempts of its queue go
	stuck     string // why its task record cannot be out; empty: it can
	again     *again // with whom it is to be published again, once the inbox is read; nil: it is not

	older, newer *watched // in its queue's list of attempts of its status
}

func newWatch() watch {
	return watch{
		open: map[attemptKey]*watched{}, asked: map[string][]lookUp{}, unknown: map[string]bool{},
		backlog: backlog{queues: map[string]*queued{}},
	}
}

// try is what a record makes of a runnable's attempt.
type try struct {
	key  attemptKey
	row  machine.Attempt
	open bool
}

// appendTries appends what the changes of a record mean for attempts.
func appendTries(tries []try, writes []rows.Write) []try {
	for i := range writes {
		w := &writes[i]
		if w.Key.Table != rows.Runnable {
			continue
		}
		t := try{key: attemptKey{w.Key.Workflow, events.RunnableID(w.Key.A)}}
		if r, ok := w.Row.(machine.Watched); ok {
			t.row, t.open = r.OpenAttempt()
		}
		tries = append(tries, t)
	}
	return tries
}

// note follows the row of an attempt as a record changes it.
func (w *watch) note(t *try, now int64) {
	k, row := t.key, &t.row
	at := w.open[k]
	switch {
	case !t.open:
		w.close(k, at)
	case at == nil:
		at = w.spare.take()
		w.open[k] = at
		at.key = k
		at.follow(row, now)
		w.backlog.add(at)
	case countedAlike(&at.row, row):
		at.follow(row, now)
	default:
		w.backlog.remove(at)
		at.follow(row, now)
		w.backlog.add(at)
	}
}

// follow takes over the row of the attempt, or of one that comes after it. The links
// of its list stay: they are the backlog's.
func (at *watched) follow(row *machine.Attempt, now int64) {
	if at.row.Attempt != row.Attempt || at.row.Decided != row.Decided {
		*at = watched{key: at.key, row: *row, offset: -1, heard: now, looked: now, older: at.older, newer: at.newer}
		return
	}
	if row.Notified && !at.row.Notified {
		at.heard = now
	}
	at.row = *row
}

// close forgets an attempt, if it is known; nobody keeps what was known of it.
func (w *watch) close(k attemptKey, at *watched) {
	delete(w.open, k)
	if at != nil {
		w.backlog.remove(at)
		w.spare.keep(at, watched{})
	}
}

// out tells where the task record of an attempt is. One whose place is not known, as
// its acknowledgement was lost, counts as the oldest: workers drop what they have.
func (w *watch) out(o *Outgoing, now int64) {
	at := w.open[attemptKey{o.Key, o.Runnable}]
	if at != nil && at.row.Decided == o.Decided {
		at.partition, at.offset, at.looked = o.partition, max(0, o.offset), now
	}
}

// heard takes a heartbeat: an attempt of that token still runs. It advances
// nothing but liveness and needs no record.
func (w *watch) heard(workflow string, token []byte) {
	t, err := events.PeekToken(token)
	if err != nil || t.Workflow != workflow {
		return
	}
	at := w.open[attemptKey{workflow, t.Runnable}]
	if at != nil && at.row.Attempt == t.Attempt && at.row.Decided == t.Decided {
		at.heard = w.clock.now
	}
}

// sweep looks, about once a second, for attempts whose worker is silent or whose
// record may be gone. It decides in the order of their keys.
func (w *watch) sweep() bool {
	if w.clock.now < w.next {
		return false
	}
	w.next = w.clock.now + w.Settings.Sweep.Milliseconds()
	w.RetryParked()
	w.stillAgain()
	over := w.overdue()
	w.onceRead(&again{keys: over.strayed, out: true})
	for _, k := range over.pending {
		w.lookAfter(k)
	}
	for _, k := range over.unsure {
		w.askPool(k)
	}
	did := false
	for _, k := range over.silent {
		did = w.silent(k) || did
	}
	return did
}

// overdue are open attempts that are to be looked after, each in the order of their keys.
type overdue struct{ silent, pending, strayed, unsure []attemptKey }

func (w *watch) overdue() (over overdue) {
	silence, wait, ask := w.Settings.Silence.Milliseconds(), w.Settings.Pending.Milliseconds(), w.Settings.Ask.Milliseconds()
	for k, at := range w.open { // order: sweep sorts them
		switch {
		case at.again == nil && w.strayed(at):
			over.strayed = append(over.strayed, k)
		case at.row.Pool != "":
			if w.clock.now-at.looked >= ask<<at.asked && !w.Flaws.UnaskedPools.On() {
				over.unsure = append(over.unsure, k)
			}
		case at.row.Detached:
		case at.row.Notified && w.clock.now-at.heard >= silence:
			over.silent = append(over.silent, k)
		case at.row.Notified || at.again != nil || w.clock.now-at.looked < wait:
		case at.stuck != "" || at.offset >= 0:
			over.pending = append(over.pending, k)
		}
	}
	for _, keys := range [...][]attemptKey{over.silent, over.pending, over.strayed, over.unsure} {
		slices.SortFunc(keys, compareAttempts)
	}
	return over
}

// strayed reports whether an attempt that nobody is known to have begun is not where the attempts of its queue go, by
// the settings of this owner. Its machine says where it is to be: it is asked once.
func (w *watch) strayed(at *watched) bool {
	if at.placed || at.row.Notified {
		return false
	}
	pool := w.Settings.Pools[at.row.Queue]
	if at.row.Pool == "" || pool == "" {
		return at.row.Pool != pool
	}
	has, err := events.ParsePoolID(at.row.Pool)
	return err != nil || !events.IsShard(has, pool, w.Settings.Shards[pool])
}

// silent gives up a notified attempt, but not before the inbox is read to an
// end seen after its silence was complete (J5).
func (w *watch) silent(k attemptKey) bool {
	at := w.open[k]
	if at == nil {
		return false
	}
	if w.inputs[events.FromInbox].readTo < at.heard+w.Settings.Silence.Milliseconds() && !w.Flaws.HastyTimers.On() {
		w.reads.wantEnds()
		return false
	}
	return w.lost(k, at.row.Attempt, "its worker fell silent")
}

// lookAfter asks whether a pending attempt's record is still to be taken, if it
// can be out at all.
func (w *watch) lookAfter(k attemptKey) {
	at := w.open[k]
	at.looked = w.clock.now
	if at.stuck != "" {
		w.giveUp(k, at.row.Decided, at.stuck)
		return
	}
	queue := at.row.Queue
	if len(w.asked[queue]) == 0 {
		w.Log.AskQueue(queue)
	}
	w.asked[queue] = append(w.asked[queue], lookUp{k, at.row.Decided, at.offset})
}

// keys are the open attempts in order.
func (w *watch) keys() []attemptKey {
	keys := make([]attemptKey, 0, len(w.open))
	for k := range w.open { // order: sorted below
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareAttempts)
	return keys
}

// unheard are the attempts, in the order of their keys, of which workers may have said
// something that is lost: those that were decided before the inbox jumped.
func (w *watch) unheard(jumped events.Position) []attemptKey {
	return slices.DeleteFunc(w.keys(), func(k attemptKey) bool {
		at := w.open[k]
		return at.row.Detached || !at.row.Decided.Before(jumped)
	})
}

// untaken are the others that nobody is known to have.
func (w *watch) untaken(jumped events.Position) []attemptKey {
	return slices.DeleteFunc(w.keys(), func(k attemptKey) bool {
		at := w.open[k]
		return at.row.Detached || at.row.Notified || at.row.Decided.Before(jumped)
	})
}
