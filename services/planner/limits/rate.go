package limits

import (
	"sort"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// A rate grants no permit that would be one too many in a time that ends with it: the permit that is
// limit permits older must be that old. For that it remembers when it has granted the newest ones, by the
// times of its records, which never go back: a new owner counts on where the one before has ended.

// grantKey is where a rate remembers when it has granted its nth permit.
func grantKey(id string, n uint64) rows.Key { return holderKey(id, n) }

// rate reports whether the key grants so many permits in a time, which nobody gives back.
func (t *turn) rate() bool { return t.kind == events.RateKey }

// window is the time of a rate in ms.
func (h *head) window() int64 { return int64(h.Limit.Per) }

// free is the time from which on a rate may grant its nth permit from now on; 0: it is past.
func (t *turn) free(n uint64) int64 {
	h := t.head
	number := h.Granted + n
	if number <= h.Limit.Limit {
		return 0
	}
	behind := number - h.Limit.Limit
	if behind > h.Granted {
		return t.now + h.window() // it is behind one that is granted now
	}
	if p := rows.Get[permit](t.tx, grantKey(t.id, behind)); p != nil {
		return p.Since + h.window()
	}
	return 0
}

// allowed is how many permits a rate may grant now, at most so many.
func (t *turn) allowed(most uint64) (n uint64) {
	for n < most && t.free(n+1) <= t.now {
		n++
	}
	return n
}

// spend takes a request out of the queue whose permit a rate has granted, and remembers when.
func (t *turn) spend(e *events.PermitIssued, n *request) {
	h := t.h()
	h.Queued--
	h.Granted++
	h.Last = t.now
	t.tx.Delete(queueKey(t.id, n.Rank, n.Number))
	t.tx.Delete(knownKey(t.id, e.Permit))
	t.tx.Put(grantKey(t.id, h.Granted), &permit{Since: t.now})
	if h.Granted > h.Limit.Limit {
		t.forget(min(h.Granted-h.Limit.Limit, h.Forgotten+2)) // two: a limit that was lowered leaves more of them
	}
}

// forget removes what a rate remembers of its permits up to a number.
func (t *turn) forget(number uint64) {
	for h := t.h(); h.Forgotten < number; {
		h.Forgotten++
		t.tx.Delete(grantKey(t.id, h.Forgotten))
	}
}

// past reports whether all that a rate remembers is too old to matter, and nobody waits.
func (t *turn) past() bool {
	return t.head.Queued == 0 && t.head.Last+t.head.window() <= t.now
}

// nextOfRate is when a rate has something to do.
func (t *turn) nextOfRate() int64 {
	if t.head.Queued > 0 {
		return max(t.now, t.free(1))
	}
	return t.head.Last + t.head.window()
}

// recent is how many permits a rate has granted within its time.
func (t *turn) recent() uint64 {
	h := t.head
	old := sort.Search(int(h.Granted-h.Forgotten), func(i int) bool {
		p := rows.Get[permit](t.tx, grantKey(t.id, h.Forgotten+1+uint64(i)))
		return p == nil || p.Since > t.now-h.window()
	})
	return h.Granted - h.Forgotten - uint64(old)
}
