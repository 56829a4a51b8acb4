//go:build budgets

package budget

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/bench"
	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/sdk/worker"
)

// load is how a workload runs.
type load struct {
	clients  int // workflows, or inputs, at a time
	warmUp   int // workflows before the count begins
	measured int // workflows that are counted
}

// deployment is `heddle dev` with its defaults and a worker, within one bubble.
type deployment struct {
	*dev.Dev
	t      *testing.T
	meter  meter
	client *client.Client
}

const brokerAddr = "localhost:9092"

// start starts a deployment whose data is on the disk, as that of `heddle dev` is.
func start(t *testing.T, slots int) *deployment {
	t.Helper()
	d := &deployment{t: t}
	network := new(broker.Network)
	var err error
	d.Dev, err = dev.Start(t.Context(), dev.Options{
		Dir: t.TempDir(), Network: network, Kafka: brokerAddr, Queues: []string{bench.Queue}, ObserveBroker: d.meter.observe,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.HTTPClient.CloseIdleConnections()
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	d.work(network, slots)
	d.client, err = kafkaclient.New(t.Context(), kafkaclient.Options{Brokers: d.Brokers, Dialer: network.DialContext, Source: "budget"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.client.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// work runs the steps of all workloads: a step returns its input.
func (d *deployment) work(network *broker.Network, slots int) {
	w, err := worker.New(worker.Options{Brokers: d.Brokers, Dialer: network.DialContext, Slots: slots, Name: "budget"})
	if err != nil {
		d.t.Fatal(err)
	}
	echo := task.Define[json.RawMessage, json.RawMessage](bench.Task)
	worker.Handle(w, echo, func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		var given bench.Input
		if json.Unmarshal(in, &given) != nil { // an element of a map is a number
			given.Order = len(in)
		}
		time.Sleep(while(given.Order))
		return in, nil
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	d.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			d.t.Error(err)
		}
	})
}

// while is how long an order's step takes, and its client before it starts the order: one
// to eight milliseconds, as if by chance, so that the clients do not fall into step.
func while(order int) time.Duration {
	mixed := uint32(order) * 2654435769 >> 16 // Knuth's multiplicative hashing
	return time.Duration(1+mixed%8) * time.Millisecond
}

// run runs the workflows from one order up to another, or gives as many inputs, by so
// many clients at a time.
func (d *deployment) run(w bench.Workload, clients, from, to int) {
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			var fed *client.Run
			for order := from + c; order < to; order += clients {
				time.Sleep(while(order))
				var err error
				id := fmt.Sprintf("order-%06d", order) // not at random: it decides the partition
				if fed, err = w.Run(d.t.Context(), d.client, fed, id, bench.InputOf(order)); err != nil {
					d.t.Errorf("%s, order %d: %v", w.Name, order, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// rest is how long nothing happens before a count: what was put off is written by then.
const rest = 15 * time.Second

// sum is what the deployment has cost so far.
func (d *deployment) sum() Cost {
	d.t.Helper()
	time.Sleep(rest)
	synctest.Wait()
	disk, err := bench.DiskBytes(d.Dir)
	if err != nil {
		d.t.Fatal(err)
	}
	rows, bytes := d.saved()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Cost{
		Allocations: float64(m.Mallocs), AllocatedSize: float64(m.TotalAlloc),
		Records: float64(d.meter.records.Load()), RecordBatches: float64(d.meter.batches.Load()), ProducedSize: float64(d.meter.size.Load()),
		Produces: float64(d.meter.produces.Load()), Fetches: float64(d.meter.fetches.Load()),
		Rows: rows, RowsSize: bytes, Disk: float64(disk),
	}
}

// saved is what the planner's stores were written with so far.
func (d *deployment) saved() (rows, bytes float64) {
	d.t.Helper()
	req, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, d.URL+"/metrics", http.NoBody)
	if err != nil {
		d.t.Fatal(err)
	}
	resp, err := d.HTTPClient.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		into := map[string]*float64{"heddle_planner_store_save_rows_total": &rows, "heddle_planner_store_save_bytes_total": &bytes}[name]
		if into == nil {
			continue
		}
		if *into, err = strconv.ParseFloat(value, 64); err != nil {
			d.t.Fatal(err)
		}
		found++
	}
	if found != 2 {
		d.t.Fatalf("the planner tells %d of its 2 metrics of stores", found)
	}
	return rows, bytes
}
