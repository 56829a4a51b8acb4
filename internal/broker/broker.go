// Package broker is the embedded Kafka broker of `heddle dev`, the demo, the
// benchmarks and the tests: franz-go's kfake, one broker on loopback that other
// Kafka clients can connect to, in memory or with a data directory.
//
// What kfake leaves open is closed here: one process per data directory,
// repair after a crash, compaction that a crash cannot turn into data loss,
// fencing that a deposed producer cannot undo, and limits of what connections cost.
package broker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options say how to run a broker.
type Options struct {
	// Dir holds the data; it is made when missing, and one process at a time
	// may use it. Empty: everything is kept in memory and lost with the broker.
	Dir string

	// Addr is host:port to listen on; the host must be loopback. Empty, or
	// port 0: any free port.
	Addr string

	// NextPort: when Addr's port is taken, try the ones above it.
	NextPort bool

	// Network, when set, replaces TCP: nobody outside this process reaches the broker,
	// and clients dial Network.DialContext. It works in a bubble of testing/synctest.
	Network *Network

	// Observe, when set, is called with each produce and fetch request before it is served.
	// The broker waits for it. The request is the broker's: it is only valid during the call.
	Observe func(kmsg.Request)

	Limits Limits       // of connections
	Logger *slog.Logger // nil: silent

	// Failed is called once when the broker cannot write to Dir. It has stopped
	// serving then, as if it were killed: what it could not write must not be
	// acknowledged, and what it has in memory is no longer what is on disk. A
	// broker that is started on the directory goes on, once there is room. nil:
	// nobody asks, and clients wait.
	Failed func(error)
}

// Network is one in memory, of a process that nobody else is to reach, or of a bubble of
// testing/synctest.
type Network = kfake.VirtualNetwork

// Broker runs until it is closed.
type Broker struct {
	cluster *kfake.Cluster
	opts    Options
	log     *slog.Logger
	addr    string
	limits  *limiter
	lock    io.Closer // of Dir

	client    *kgo.Client // of our own, for what only clients can ask
	failure   failure
	exclusive exclusive
	fences    fences
	stop      context.CancelFunc // ends maintenance
	stopped   sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

// ErrInUse is a data directory that another process has open.
var ErrInUse = errors.New("the data directory is in use by another process")

// Start opens the data directory, repairs what a crash left, and listens. The
// context bounds the start only; the broker runs until Close.
func Start(ctx context.Context, o Options) (*Broker, error) {
	b := &Broker{opts: o, log: o.Logger, failure: failure{tell: o.Failed}}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	b.limits = &limiter{Limits: o.Limits.withDefaults(), log: b.log}
	if o.Dir != "" {
		lock, err := openDir(o.Dir, b.log)
		if err != nil {
			return nil, err
		}
		b.lock = lock
	}
	if err := b.listen(ctx); err != nil {
		return nil, errors.Join(err, b.unlock())
	}
	b.addr = b.cluster.ListenAddrs()[0]
	err := b.failure.serve()
	if err != nil { // the disk was full already when it started
		b.cluster.Close()
		return nil, errors.Join(err, b.unlock())
	}
	if b.client, err = b.newClient(); err != nil {
		b.cluster.Close()
		return nil, errors.Join(err, b.unlock())
	}
	b.observe()
	b.guard()
	b.isolate()
	if o.Dir != "" {
		debug.FreeOSMemory() // kfake reads every segment whole when it loads
	}
	maintain, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	b.stopped.Go(func() { b.maintain(maintain) })
	return b, nil
}

// Addr is where clients connect.
func (b *Broker) Addr() string { return b.addr }

// Close saves what lets the next start be quick and stops. Close the clients
// first: members that did not leave their groups come back as ghosts and hold
// their partitions until their session ends. Closing again does nothing.
func (b *Broker) Close() error {
	b.closeOnce.Do(func() {
		b.stop()
		b.stopped.Wait()
		b.client.Close()
		b.closeErr = errors.Join(b.closeCluster(), b.unlock())
	})
	return b.closeErr
}

// closeCluster ends kfake and marks what it leaves as whole. One that has failed
// waits for ever; its process is expected to end.
func (b *Broker) closeCluster() error {
	if err := b.failure.end(); err != nil {
		return err
	}
	b.cluster.Close()
	if err := b.failure.end(); err != nil || b.opts.Dir == "" {
		return err
	}
	return markClean(b.opts.Dir)
}

func (b *Broker) unlock() error {
	if b.lock == nil {
		return nil
	}
	return b.lock.Close()
}

// portsToTry bounds the search of NextPort.
const portsToTry = 64

// listen starts the cluster at the wanted port, or at one above it.
func (b *Broker) listen(ctx context.Context) error {
	port, err := loopbackPort(b.opts.Addr)
	if err != nil {
		return err
	}
	for range portsToTry {
		b.cluster, err = kfake.NewCluster(b.options(port)...)
		if err == nil {
			return nil
		}
		if !b.opts.NextPort || port == 0 || !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		port++
	}
	return fmt.Errorf("start the embedded broker at port %d: %w", port, err)
}

func loopbackPort(addr string) (int, error) {
	if addr == "" {
		return 0, nil
	}
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("broker address %q: %w", addr, err)
	}
	if host != "localhost" && host != "127.0.0.1" {
		return 0, fmt.Errorf("broker address %q: the embedded broker listens on 127.0.0.1 only", addr)
	}
	port, err := strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return 0, fmt.Errorf("broker address %q: no such port", addr)
	}
	return port, nil
}

const (
	memorySegment = 8 << 20  // small, because a growing segment in memory is copied
	diskSegment   = 32 << 20 // retention frees whole segments

	minSession = 500 * time.Millisecond // so that tests need not wait
)

func (b *Broker) options(port int) []kfake.Opt {
	segment := memorySegment
	if b.opts.Dir != "" {
		segment = diskSegment
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.Ports(port),
		kfake.ClusterID(newClusterID()), // a data directory keeps its first one
		kfake.GroupMinSessionTimeout(minSession),
		kfake.WithLogger(kfakeLogger{b.log, &b.failure}),
		kfake.BrokerConfigs(map[string]string{
			// Group settings that clients alter live in memory only and are
			// gone after a crash: so the defaults are what topics.yaml wants.
			"group.consumer.session.timeout.ms":    "6000",
			"group.consumer.heartbeat.interval.ms": "500",
			"log.segment.bytes":                    strconv.Itoa(segment),
			"log.cleaner.backoff.ms":               never, // see maintain
		}),
	}
	opts = append(opts, kfake.ListenFn(b.limits.listen(b.opts.Network)))
	if b.opts.Dir != "" {
		opts = append(opts, kfake.DataDir(b.opts.Dir))
	}
	return opts
}

// never is an interval of a hundred years in milliseconds.
const never = "3153600000000"

func newClusterID() string {
	var id [11]byte
	rand.Read(id[:])
	return "heddle-" + hex.EncodeToString(id[:])
}
