package worker

import (
	"context"
	"time"
)

const (
	// sweepEvery is how exact the grace and the heartbeats are.
	sweepEvery = 50 * time.Millisecond
	// resendEvery is how often refused reports are sent again.
	resendEvery = time.Second
	// detailsEvery bounds how often new heartbeat details are sent, where there is no closer limit to silence.
	detailsEvery = time.Second
)

// sweep notifies attempts that outlive the grace and sends heartbeats for those
// that were: one goroutine for all attempts, at rest while there are none.
func (t *Worker) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	resend := time.Now()
	for {
		now := time.Now()
		for _, a := range t.tracker.running(now) {
			t.attend(a, now)
		}
		if now.Sub(resend) >= resendEvery {
			t.resend(now)
			resend = now
		}
		if !t.rest(ctx, tick) {
			return
		}
	}
}

// rest waits for the next tick, and while no attempt is open for the next one.
func (t *Worker) rest(ctx context.Context, tick *time.Ticker) bool {
	if t.tracker.idle() {
		select {
		case <-ctx.Done():
			return false
		case <-t.tracker.awake:
		}
	}
	select {
	case <-ctx.Done():
		return false
	case <-tick.C:
		return true
	}
}

// attend reports about one running attempt what is due.
func (t *Worker) attend(a *Attempt, now time.Time) {
	a.reports.Lock()
	defer a.reports.Unlock()
	switch {
	case a.ended:
	case !a.notified():
		if now.Sub(a.started) >= t.config.Grace {
			t.notify(a, now)
		}
	case !now.Before(a.guard.nextBeat), a.guard.unsent && now.Sub(a.guard.lastBeat) >= a.detailsEvery():
		t.beat(a, now)
	}
}

func (t *Worker) resend(now time.Time) {
	for _, r := range t.unproduced.take() {
		t.tracker.reported(len(r.room))
		again := newReport()
		again.misfits = r.misfits
		t.send(again, r.attempt, r.inbox.Message, now)
	}
}
