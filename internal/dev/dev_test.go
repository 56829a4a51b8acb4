package dev_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev"
	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/sdk/kafkaclient"
)

// double is a workflow whose step a sleep follows: there is time to be
// interrupted in.
const double = `{"name": "double", "version": "1", "components": {
	"twice": {"expr": "input * 2"}, "echo": {"step": "test.echo", "after": "twice"}, "nap": {"sleep": "300ms", "after": "echo"}},
	"outputs": {"nap": "nap"}, "options": {"close": "on_idle"}}`

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func start(t *testing.T, ctx context.Context, o dev.Options) *dev.Dev {
	t.Helper()
	d, err := dev.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func stop(t *testing.T, d *dev.Dev) {
	t.Helper()
	if err := d.Stop(); err != nil {
		t.Fatalf("stopping: %v", err)
	}
	select {
	case err := <-d.Ended():
		t.Fatalf("a service ended by itself: %v", err)
	default:
	}
}

func connect(t *testing.T, d *dev.Dev) *client.Client {
	t.Helper()
	c, err := client.New(t.Context(), client.Options{URL: d.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// napped waits for a workflow's result.
func napped(t *testing.T, ctx context.Context, c *client.Client, id string, want int) {
	t.Helper()
	got, err := client.Result[int](ctx, c.Run(id), "nap")
	if err != nil || got != want {
		t.Fatalf("%s: %d, %v; want %d", id, got, err, want)
	}
}

func TestARestartGoesOnWhereItStopped(t *testing.T) {
	ctx, dir := within(t), t.TempDir()
	o := dev.Options{Dir: dir, Partitions: 2}
	d := start(t, ctx, o)
	c := connect(t, d)
	if _, err := c.Define(ctx, "double", []byte(double)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if _, err := c.Start(ctx, "double", 21, client.StartOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	file, err := devfile.Read(dir)
	if err != nil || file.URL != d.URL || file.PID != os.Getpid() {
		t.Fatalf("dev.json: %+v, %v", file, err)
	}
	if _, err := dev.Start(ctx, o); !errors.Is(err, dev.ErrInUse) {
		t.Fatalf("a second one on the same data: %v", err)
	}
	stop(t, d)
	if _, err := devfile.Read(dir); !errors.Is(err, devfile.ErrNone) {
		t.Fatalf("dev.json of a stopped one: %v", err)
	}

	o.Partitions = 5
	if _, err := dev.Start(ctx, o); !errors.Is(err, dev.ErrPartitions) {
		t.Fatalf("another count of partitions: %v", err)
	}
	o.Partitions = 0 // those that exist
	d = start(t, ctx, o)
	defer stop(t, d)
	c = connect(t, d)
	for _, id := range []string{"a", "b", "c"} {
		napped(t, ctx, c, id, 42)
	}
	if _, err := c.Start(ctx, "double", 1, client.StartOptions{ID: "d"}); err != nil {
		t.Fatalf("the definition is gone: %v", err)
	}
}

// The services open files all the time: their paths do not follow the working directory
// of the process.
func TestTheWorkingDirectoryMayChange(t *testing.T) {
	ctx := within(t)
	t.Chdir(t.TempDir())
	d := start(t, ctx, dev.Options{Dir: "data", Partitions: 1})
	t.Chdir(t.TempDir())
	c := connect(t, d)
	if _, err := c.Define(ctx, "double", []byte(double)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Start(ctx, "double", 21, client.StartOptions{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	napped(t, ctx, c, "a", 42)
	stop(t, d)
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Fatalf("the other directory has %v, %v", left, err)
	}
}

func TestEveryServiceCanBeRestartedAlone(t *testing.T) {
	ctx := within(t)
	d := start(t, ctx, dev.Options{Partitions: 2, Memory: true})
	defer stop(t, d)
	kafka, err := kafkaclient.New(ctx, kafkaclient.Options{Brokers: d.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	defer kafka.Close()
	if _, err := kafka.Define(ctx, "double", []byte(double)); err != nil {
		t.Fatal(err)
	}
	for s, name := range map[dev.Service]string{dev.Planner: "planner", dev.Executor: "executor", dev.Readiness: "readiness", dev.Gateway: "gateway"} {
		if err := d.StopService(s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Kafka takes a start while planners are away.
		if _, err := kafka.Start(ctx, "double", 4, client.StartOptions{ID: name, Wait: client.UntilWritten}); err != nil {
			t.Fatalf("without the %s: %v", name, err)
		}
		if err := d.StartService(ctx, s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		napped(t, ctx, connect(t, d), name, 8)
	}
}

func TestOnlyAPlannerWithAProcessOfItsOwnIsKilled(t *testing.T) {
	d := start(t, within(t), dev.Options{Partitions: 1, Memory: true})
	defer stop(t, d)
	if _, err := d.KillPlanner(); err == nil {
		t.Fatal("this process was to be killed")
	}
}

func TestAPlannerThatCannotStartIsNamed(t *testing.T) {
	d, err := dev.Start(within(t), dev.Options{Partitions: 1, Memory: true, Planner: []string{"/nowhere/heddle", "planner"}})
	if err == nil {
		stop(t, d)
		t.Fatal("there is no such program")
	}
	if !strings.Contains(err.Error(), "starting the planner") || !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("got %v", err)
	}
}

func TestATakenPortIsPassedOver(t *testing.T) {
	ctx := within(t)
	first := start(t, ctx, dev.Options{Partitions: 1, Memory: true})
	defer stop(t, first)
	taken := dev.Options{Partitions: 1, Memory: true, HTTP: strings.TrimPrefix(first.URL, "http://"), Kafka: first.Brokers[0]}
	if d, err := dev.Start(ctx, taken); err == nil {
		stop(t, d)
		t.Fatal("two share an address")
	}
	taken.NextHTTP, taken.NextKafka = true, true
	second := start(t, ctx, taken)
	defer stop(t, second)
	if second.URL == first.URL || second.Brokers[0] == first.Brokers[0] {
		t.Fatalf("both are at %s and %s", second.URL, second.Brokers[0])
	}
}

func TestMemoryLeavesNoLogs(t *testing.T) {
	ctx, dir := within(t), t.TempDir()
	d := start(t, ctx, dev.Options{Dir: dir, Partitions: 1, Memory: true})
	stop(t, d)
	for _, name := range []string{"broker", "planner", "gateway"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("%s is on the disk: %v", name, err)
		}
	}
}
