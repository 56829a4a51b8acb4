package runner

import (
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

// Config says who the runner is.
type Config struct {
	Init   frames.ToServerInit // what it says of itself; its LastCommandIdx is the Session's to give
	Times  Times
	Random func() float64 // in [0, 1), for the delays of reconnecting
}

// Times are how long things take. Zero ones mean the defaults.
type Times struct {
	Ping           time.Duration // between two pings; 3 s
	AckCommands    time.Duration // between two acknowledgements of commands; 5 min
	FirstReconnect time.Duration // the delay before the first new socket, doubled for each other one; 1 s
	LastReconnect  time.Duration // the longest delay; 30 s
	Init           time.Duration // from the start of a connection to ToClientInit; 20 s
	Silence        time.Duration // without a frame before the socket counts as broken, unless the server says it; 15 s
	Lost           time.Duration // without a socket before attempts are stopped, unless the server says it; 15 s
	Kv             time.Duration // that a request for keys takes at most; 30 s
	Drain          time.Duration // that attempts may take when the runner stops; 120 s
	DrainLook      time.Duration // between two looks whether they have ended; 100 ms
	Acks           time.Duration // that a runner which stops waits for its last events to be acknowledged; 2 s
	Heartbeat      time.Duration // between two heartbeats of an attempt, which are as many as its function gives; 1 s
}

// Unacknowledged is how many events may wait for their acknowledgement before the runner warns.
const Unacknowledged = 10_000

// ackEvery is how many commands are received before they are acknowledged without waiting for the time.
const ackEvery = 500

// WithDefaults are the times with the defaults of those that are zero.
func (t Times) WithDefaults() Times {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{
		{&t.Ping, 3 * time.Second}, {&t.AckCommands, 5 * time.Minute},
		{&t.FirstReconnect, time.Second}, {&t.LastReconnect, 30 * time.Second},
		{&t.Init, 20 * time.Second}, {&t.Silence, 15 * time.Second}, {&t.Lost, 15 * time.Second},
		{&t.Kv, 30 * time.Second}, {&t.Drain, 120 * time.Second}, {&t.DrainLook, 100 * time.Millisecond},
		{&t.Acks, 2 * time.Second}, {&t.Heartbeat, time.Second},
	} {
		if *d.p == 0 {
			*d.p = d.v
		}
	}
	return t
}
