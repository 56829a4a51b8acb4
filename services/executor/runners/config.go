package runners

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// Config of a Server. Zero values mean the defaults.
type Config struct {
	Kafka kafka.Config

	Keys     access.Keys // of runners, which need the role write; none: only runners of this machine connect, unless Insecure
	Insecure bool        // something else guards the address
	Origins  []string    // of web pages that connect though there are no keys, as https://HOST:PORT; with keys those of any do
	Address  string      // under which gateways reach this executor, for tunnels; empty: they do not

	Times  Times
	Limits Limits

	KV KV // nil: requests for keys are answered with frames.KvUnavailable

	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // of metrics; nil: none
}

// Times are how long things take.
type Times struct {
	Init    time.Duration // until the first frame; 5 s
	Welcome time.Duration // until the pool has answered it; 10 s
	Silence time.Duration // without a frame behind which the runner gets no new work; 10 s
	Ping    time.Duration // without a frame behind which the socket is closed; 15 s
	Ack     time.Duration // without an event behind which all are acknowledged that have counted; 750 ms, so that a second is kept
	Present time.Duration // between two words to a pool that this executor is there; 5 s
	Write   time.Duration // that one frame to a runner may take; 10 s
	Close   time.Duration // that what is still to be written may take when a socket is closed; 2 s
	Drain   time.Duration // that Close waits for what has been reported to be acknowledged; 5 s
	Look    time.Duration // between two looks at the times of all sockets; 100 ms
}

// Limits of what a Server takes and keeps.
type Limits struct {
	MaxPayload int64 // bytes of a frame from a runner; frames.DefaultMaxPayload
	Sockets    int   // at a time; 10,000
	OutFrames  int   // frames that wait for one runner to read them; 1,000
	OutBytes   int   // their bytes, if it is more than one frame; 4 MiB
	Events     int   // of one socket that Kafka has not acknowledged, behind which it is not read on; 1,000
	Tunnel     int64 // bytes of messages of tunnels of one socket that Kafka has not acknowledged, likewise; 4 MiB
	Bytes      int64 // of what Kafka has not acknowledged, of all sockets; 128 MiB
}

func (t Times) complete() Times {
	for _, f := range []struct {
		field *time.Duration
		usual time.Duration
	}{
		{&t.Init, 5 * time.Second}, {&t.Welcome, 10 * time.Second}, {&t.Silence, 10 * time.Second}, {&t.Ping, 15 * time.Second},
		{&t.Ack, 750 * time.Millisecond}, {&t.Present, 5 * time.Second}, {&t.Write, 10 * time.Second}, {&t.Close, 2 * time.Second},
		{&t.Drain, 5 * time.Second}, {&t.Look, 100 * time.Millisecond},
	} {
		if *f.field == 0 {
			*f.field = f.usual
		}
	}
	return t
}

func (l Limits) complete() Limits {
	if l.MaxPayload == 0 {
		l.MaxPayload = frames.DefaultMaxPayload
	}
	if l.Tunnel == 0 {
		l.Tunnel = 4 << 20
	}
	if l.Bytes == 0 {
		l.Bytes = 128 << 20
	}
	for _, f := range []struct {
		field *int
		usual int
	}{{&l.Sockets, 10_000}, {&l.OutFrames, 1000}, {&l.OutBytes, 4 << 20}, {&l.Events, 1000}} {
		if *f.field == 0 {
			*f.field = f.usual
		}
	}
	return l
}

// Socket names the socket that a frame has come from.
type Socket struct {
	events.Connection
	Pool   string // name
	Runner string // id of the session
}

// KV answers requests for the keys of an attempt, which are within the limits of their number and size.
type KV interface {
	// Request does not wait. It calls answer once, from any goroutine, unless the socket has gone. The request is its own.
	Request(from Socket, q *frames.ToServerKvRequest, answer func(*frames.ToClientKvResponse))
}
