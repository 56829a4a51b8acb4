package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/worker"
	"github.com/heddle-run/heddle/services/planner/pool"
)

// Options say where workflows live: in Dir, in Memory, or in a cluster, which is what
// Worker.Brokers and Client.URL name. Exactly one of the three is given.
type Options struct {
	// Dir is the data directory, made where it is missing. One Runner at a time has it;
	// the next one goes on where that one stopped, however it stopped.
	Dir string
	// Memory keeps everything in memory: nothing outlives the Runner.
	Memory bool

	// Tasks registers the tasks of this program, by worker.Handle; Open calls it once. nil:
	// there are none, and no worker runs.
	Tasks func(*worker.Worker)

	// HTTP is an address of loopback, as "127.0.0.1:4080", where the API is served to other
	// programs of this machine too, with metrics. Empty: nobody outside this program
	// reaches anything. A cluster has gateways of its own.
	HTTP string

	// Store is where runs are kept when they are deleted by their age, as one of package sdk/store/postgres; the program
	// closes it behind Close. nil: below Dir, or with Memory in memory. A cluster has an archiver of its own.
	Store store.Store

	// Pools are the pools of runners by name: the queues whose attempts runners run, by package sdk/runner or in another
	// language, instead of a worker. Runners connect to HTTP. The planners of a cluster have pools of their own.
	Pools map[string]Pool

	// Worker and Client say more about the program's worker and client, as how many
	// attempts run at a time. What says how a cluster is reached goes with a cluster only.
	Worker worker.Options
	Client client.Options

	// Logger is of the services; the worker has its own. nil: warnings and errors go to
	// slog.Default.
	Logger *slog.Logger
}

// Pool is a pool of runners.
type Pool struct {
	Queues   []string // each is in one pool
	Overflow bool     // work goes to runners of older versions too, where the newest have no room; else it waits
	Upgrade  bool     // runners of older versions drain once one of a newer version has come; else they get no new work
	Shards   int      // that its work and its runners are spread over, where one partition is too little for it; 0: 1
}

// pools are the pools as planners know them.
func (o Options) pools() map[string]pool.Options {
	all := map[string]pool.Options{}
	for name, p := range o.Pools { // order: each is a pool by itself
		all[name] = pool.Options{Queues: p.Queues, Overflow: p.Overflow, Upgrade: p.Upgrade, Shards: p.Shards}
	}
	return all
}

// ErrOptions is what errors of Open are that the Options are the cause of.
var ErrOptions = errors.New("embedded: the options are wrong")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrOptions}, args...)...)
}

// cluster reports whether the workflows live outside this program.
func (o Options) cluster() bool { return len(o.Worker.Brokers) > 0 || o.Client.URL != "" }

func (o Options) check() error {
	places := 0
	for _, given := range []bool{o.Dir != "", o.Memory, o.cluster()} {
		if given {
			places++
		}
	}
	switch {
	case places != 1:
		return wrong("want one of Dir, Memory, and a cluster (Worker.Brokers with Client.URL), got %d of them", places)
	case o.cluster():
		return o.checkCluster()
	}
	return o.checkAlone()
}

func (o Options) checkCluster() error {
	switch {
	case o.Client.URL == "":
		return wrong("Worker.Brokers without Client.URL: the client of a cluster asks a gateway")
	case len(o.Worker.Brokers) == 0 && o.Tasks != nil:
		return wrong("Client.URL without Worker.Brokers: the worker takes tasks from Kafka")
	case o.HTTP != "":
		return wrong("HTTP: a cluster has gateways of its own")
	case o.Store != nil:
		return wrong("Store: a cluster has an archiver of its own")
	case len(o.Pools) > 0:
		return wrong("Pools: the planners of a cluster are told")
	}
	return nil
}

// checkAlone refuses what would be said in vain where there is no cluster.
func (o Options) checkAlone() error {
	if host, _, err := net.SplitHostPort(o.HTTP); o.HTTP != "" && host != "localhost" && (err != nil || !net.ParseIP(host).IsLoopback()) {
		return wrong("HTTP is %q, want an address of loopback, as 127.0.0.1:4080", o.HTTP)
	}
	if err := (pool.Settings{Pools: o.pools()}).Check(); err != nil {
		return wrong("Pools: %w", err)
	}
	w, c := o.Worker, o.Client
	for name, given := range map[string]bool{
		"Worker.Prefix": w.Prefix != "", "Worker.Security": w.Security != worker.Security{}, "Worker.TLS": w.TLS != nil,
		"Worker.SASL": w.SASL != nil, "Worker.Dialer": w.Dialer != nil, "Client.APIKey": c.APIKey != "", "Client.HTTPClient": c.HTTPClient != nil,
	} {
		if given {
			return wrong("%s says how a cluster is reached, and none is named by Worker.Brokers and Client.URL", name)
		}
	}
	return nil
}

// kafkaInside is the broker's address on the network within this program.
const kafkaInside = "localhost:9092"

// services are the options of the services in this program, whose broker is on a network
// of its own.
func (o Options) services(network *broker.Network, queues []string, failed func(error)) dev.Options {
	return dev.Options{
		Dir: o.Dir, Memory: o.Memory, Network: network, Kafka: kafkaInside, HTTP: o.HTTP, Queues: queues, Store: o.Store, Pools: o.pools(),
		// As an executor of a cluster that is told nothing: a move there changes nothing.
		NoLoopback: true, NoTest: true,
		BrokerFailed: failed, Logger: o.Logger,
	}
}
