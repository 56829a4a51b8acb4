package runner

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	core "github.com/heddle-run/heddle/internal/runner"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/frames"
)

// Options say which pool a Runner offers its slots to, and who it is. An empty URL, Pool, Key or Token is
// taken from the environment: HEDDLE_RUNNER_URL, HEDDLE_RUNNER_POOL, HEDDLE_RUNNER_KEY, HEDDLE_RUNNER_TOKEN.
type Options struct {
	// URL is where runners connect: http, https, ws or wss. Without a path it gets the usual one. Without any a
	// running `heddle dev` is looked for in the working directory and above it.
	URL  string
	Pool string

	// Key names the runner in its pool, also after a restart; of two that connect with the same one the older is
	// closed. Name.
	Key  string
	Name string // shown to people; host name and process ID

	Version  uint32 // of the program: a pool gives work to the highest first
	Slots    int    // attempts at a time, up to frames.MaxSlots; 16 per CPU
	Metadata any    // shown to people, as JSON of at most 64 KiB; nil: none
	Token    string // bearer token; empty: none
	Binary   bool   // frames are Protocol Buffers, not JSON

	// What happens to the connection. They are called one after another, and should return soon.
	OnConnected    func(runnerID string)
	OnDisconnected func(reason string) // of the close frame; empty: there was none
	OnShutdown     func()              // once, when Run ends

	Interceptors []Interceptor // around each attempt; the first is the outermost
	Logger       *slog.Logger  // nil: slog.Default

	TLS    *tls.Config                                                       // for https and wss; nil: the usual one
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error) // nil: TCP
	Times  Times
}

// Times are how long things take; zero ones mean the defaults. Those that the server says itself when the runner
// connects, the silence and the loss, count until then.
type Times struct {
	Ping           time.Duration // between two pings; 3 s
	AckCommands    time.Duration // between two acknowledgements of commands; 5 min
	FirstReconnect time.Duration // the delay before the first new socket, doubled for each one that fails; 1 s
	LastReconnect  time.Duration // the longest delay; 30 s
	Init           time.Duration // from the start of a connection to the server's first frame; 20 s
	Silence        time.Duration // without a frame before the socket counts as broken; 15 s
	Lost           time.Duration // without a socket before attempts are stopped; 15 s
	KV             time.Duration // that a request for keys takes at most; 30 s
	Drain          time.Duration // that attempts may take when the runner stops; 120 s
	DrainLook      time.Duration // between two looks whether they have ended; 100 ms
	Acks           time.Duration // that a runner which stops waits for its last events to be acknowledged; 2 s
	Heartbeat      time.Duration // between two heartbeats of an attempt; 1 s, a third of its policy's heartbeat_timeout if that is less
	Leave          time.Duration // that Run waits at its end for functions whose contexts have ended; 5 s
}

// Handler runs an attempt: JSON in, JSON out.
type Handler = task.Handler

// Interceptor puts something around the functions of a runner's tasks.
type Interceptor = task.Interceptor

const (
	slotsPerCPU  = 16
	defaultLeave = 5 * time.Second
)

// complete fills in what is not given, and says what is wrong.
func (o *Options) complete() error {
	o.URL = cmp.Or(o.URL, os.Getenv("HEDDLE_RUNNER_URL"))
	o.Pool = cmp.Or(o.Pool, os.Getenv("HEDDLE_RUNNER_POOL"))
	o.Token = cmp.Or(o.Token, os.Getenv("HEDDLE_RUNNER_TOKEN"))
	o.Name = cmp.Or(o.Name, defaultName())
	o.Key = cmp.Or(o.Key, os.Getenv("HEDDLE_RUNNER_KEY"), o.Name)
	if o.Slots == 0 {
		o.Slots = min(slotsPerCPU*runtime.GOMAXPROCS(0), frames.MaxSlots)
	}
	if o.Times.Leave == 0 {
		o.Times.Leave = defaultLeave
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.URL == "" {
		dev, err := devfile.Running()
		if err != nil {
			return fmt.Errorf("runner: no URL: %w", err)
		}
		o.URL = dev.URL
	}
	switch {
	case o.Pool == "" || len(o.Pool) > frames.MaxName:
		return fmt.Errorf("runner: the pool (Options.Pool, HEDDLE_RUNNER_POOL) has %d bytes, want 1 to %d", len(o.Pool), frames.MaxName)
	case len(o.Key) > frames.MaxName || len(o.Name) > frames.MaxName:
		return fmt.Errorf("runner: Options.Key has %d bytes and Options.Name %d, at most are allowed %d", len(o.Key), len(o.Name), frames.MaxName)
	case o.Slots < 0 || o.Slots > frames.MaxSlots:
		return fmt.Errorf("runner: Options.Slots is %d, want 1 to %d", o.Slots, frames.MaxSlots)
	}
	return nil
}

func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "runner"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}

// address is the URL that a socket is opened to.
func (o *Options) address() (string, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return "", fmt.Errorf("runner: Options.URL: %w", err)
	}
	switch u.Scheme {
	case "http":
		u.Scheme = "ws"
	case "https":
		u.Scheme = "wss"
	case "ws", "wss":
	default:
		return "", fmt.Errorf("runner: Options.URL is %q, want http, https, ws or wss", o.URL)
	}
	if u.Host == "" {
		return "", fmt.Errorf("runner: Options.URL is %q, which has no host", o.URL)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = frames.Path
	}
	q := u.Query()
	q.Set(frames.QueryVersion, strconv.Itoa(frames.ProtocolVersion))
	q.Set(frames.QueryPool, o.Pool)
	q.Set(frames.QueryKey, o.Key)
	if o.Binary {
		q.Set(frames.QueryEncoding, frames.Binary.String())
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// init is what the runner says of itself.
func (o *Options) init(tasks []string) (frames.ToServerInit, error) {
	f := frames.ToServerInit{Name: o.Name, Version: o.Version, TotalSlots: uint32(o.Slots), Instance: rand.Text()}
	if o.Metadata != nil {
		raw, err := json.Marshal(o.Metadata)
		if err != nil {
			return f, fmt.Errorf("runner: Options.Metadata: %w", err)
		}
		if len(raw) > frames.MaxMetadata {
			return f, fmt.Errorf("runner: Options.Metadata has %d bytes of JSON, at most are allowed %d", len(raw), frames.MaxMetadata)
		}
		f.Metadata = raw
	}
	if len(tasks) > frames.MaxTaskNames {
		return f, fmt.Errorf("runner: %d tasks are registered, at most are allowed %d", len(tasks), frames.MaxTaskNames)
	}
	if len(tasks) == 0 {
		return f, errors.New("runner: no task is registered")
	}
	for _, name := range tasks {
		f.PrepopulateTaskNames = append(f.PrepopulateTaskNames, pair(name))
	}
	return f, nil
}

func (t Times) core() core.Times {
	return core.Times{
		Ping: t.Ping, AckCommands: t.AckCommands, FirstReconnect: t.FirstReconnect, LastReconnect: t.LastReconnect,
		Init: t.Init, Silence: t.Silence, Lost: t.Lost, Kv: t.KV, Drain: t.Drain, DrainLook: t.DrainLook,
		Acks: t.Acks, Heartbeat: t.Heartbeat,
	}
}

// Scaled are the times, the defaults included, multiplied by f: what takes minutes takes seconds in a test. Init is not:
// a machine that is busy is as slow there.
func (t Times) Scaled(f float64) Times {
	all := t.core().WithDefaults()
	if t.Leave == 0 {
		t.Leave = defaultLeave
	}
	by := func(d time.Duration) time.Duration { return time.Duration(float64(d) * f) }
	return Times{
		Ping: by(all.Ping), AckCommands: by(all.AckCommands), FirstReconnect: by(all.FirstReconnect), LastReconnect: by(all.LastReconnect),
		Init: all.Init, Silence: by(all.Silence), Lost: by(all.Lost), KV: by(all.Kv), Drain: by(all.Drain), DrainLook: by(all.DrainLook),
		Acks: by(all.Acks), Heartbeat: by(all.Heartbeat), Leave: by(t.Leave),
	}
}
