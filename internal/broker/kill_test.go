package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
)

// victimVariable makes the test binary a broker with writers that waits to be
// killed; its value is the data directory, the generation, and how many bytes a
// file may have, from when the writers start: 0 is no limit.
const victimVariable = "HEDDLE_BROKER_VICTIM"

func TestMain(m *testing.M) {
	if v := os.Getenv(victimVariable); v != "" {
		args := strings.Split(v, "|")
		if err := victim(args[0], args[1], args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Killed again and again under load, on one directory, the broker keeps every
// record and transaction that it acknowledged, once, and hides every
// transaction that did not commit, for ever.
func TestAKilledBrokerKeepsItsPromises(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	promised := map[string]bool{}
	var before map[string]int // the journal after the last kill
	for generation := range 4 {
		for _, v := range killed(t, dir, generation, 0, time.Duration(150+rng.IntN(400))*time.Millisecond) {
			promised[v] = true
		}
		image := t.TempDir()
		if err := os.CopyFS(image, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		c := brokertest.StartDir(t, image, few)
		journal, state := allValues(t, c, c.Topics.Journal()), allValues(t, c, c.Topics.State())
		t.Logf("generation %d: %d promises, %d records", generation, len(promised), len(journal))
		checkPromises(t, promised, journal, state)
		checkHistory(t, generation, before, journal)
		checkNextTransaction(t, c)
		before = journal
		if err := c.Broker.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Where it cannot write everything that it is asked to, it acknowledges nothing
// more, and what it has acknowledged is there when it is started again.
func TestABrokerWithoutRoomKeepsItsPromises(t *testing.T) {
	for extra := range 8 {
		dir, promised := t.TempDir(), map[string]bool{}
		for _, v := range killed(t, dir, 0, 100_000+23*extra, 20*time.Second) {
			promised[v] = true
		}
		c := brokertest.StartDir(t, dir, few)
		journal, state := allValues(t, c, c.Topics.Journal()), allValues(t, c, c.Topics.State())
		t.Logf("limit %d: %d promises, %d records", 100_000+23*extra, len(promised), len(journal))
		if len(promised) == 0 {
			t.Error("nothing was promised: nothing is proven")
		}
		checkPromises(t, promised, journal, state)
		checkNextTransaction(t, c)
	}
}

// limitFiles has writes that make a file longer fail, as those to a full disk do.
func limitFiles(bytes string) error {
	n, err := strconv.ParseUint(bytes, 10, 64)
	if err != nil || n == 0 {
		return err
	}
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
}

func checkPromises(t *testing.T, promised map[string]bool, journal, state map[string]int) {
	t.Helper()
	for v, n := range journal {
		if n != 1 {
			t.Errorf("%s is there %d times", v, n)
		}
	}
	for v := range promised {
		if journal[v] != 1 || strings.HasPrefix(v, "txn") && state[v] != 1 {
			t.Errorf("%s was acknowledged and is %d times in the journal, %d in the state", v, journal[v], state[v])
		}
	}
}

// checkHistory holds that a kill changes nothing in what an earlier one left.
func checkHistory(t *testing.T, generation int, before, journal map[string]int) {
	t.Helper()
	own := fmt.Sprintf("-%d-", generation)
	for v := range before {
		if journal[v] == 0 {
			t.Errorf("%s was there after the last kill and is gone", v)
		}
	}
	for v := range journal {
		if before[v] == 0 && !strings.Contains(v, own) {
			t.Errorf("%s was not there after the last kill and is back", v)
		}
	}
}

// checkNextTransaction holds that readers see what the next owner commits.
func checkNextTransaction(t *testing.T, c *brokertest.Cluster) {
	t.Helper()
	txn, err := kafka.NewTxn(c.Config, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Close()
	if err := txn.Fence(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := txn.Run(t.Context(), []*kgo.Record{kafka.Placed(c.Topics.Journal(), 0, nil, []byte("next"))}, nil); err != nil {
		t.Fatal(err)
	}
	if allValues(t, c, c.Topics.Journal())["next"] != 1 {
		t.Error("the next owner's transaction is not seen")
	}
}

// killed runs a victim for a while and returns what it said was acknowledged.
func killed(t *testing.T, dir string, generation, limit int, after time.Duration) (lines []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d|%d", victimVariable, dir, generation, limit))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	if !scanner.Scan() || scanner.Text() != "ready" {
		t.Fatalf("the victim did not start: %q", scanner.Text())
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended by itself
	defer timer.Stop()
	for scanner.Scan() {
		if v, ok := strings.CutPrefix(scanner.Text(), "+"); ok && strings.HasSuffix(v, ".") {
			lines = append(lines, strings.TrimSuffix(v, "."))
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the victim ended by itself")
	}
	return lines
}

func victim(dir, generation, limit string) error {
	ctx := context.Background()
	b, err := broker.Start(ctx, broker.Options{Dir: dir, Failed: func(err error) {
		fmt.Fprintln(os.Stderr, "the victim:", err)
		os.Exit(1)
	}})
	if err != nil {
		return err
	}
	config := kafka.Config{Brokers: []string{b.Addr()}}
	set, err := topics.Default().Set(few)
	if err != nil {
		return err
	}
	admin, err := kafka.NewAdmin(config)
	if err != nil {
		return err
	}
	if _, err := set.Apply(ctx, admin); err != nil {
		return err
	}
	journal, err := kafka.NewJournalProducer(config)
	if err != nil {
		return err
	}
	txn, err := kafka.NewTxn(config, 0)
	if err != nil {
		return err
	}
	if err := txn.Fence(ctx); err != nil {
		return err
	}
	if err := limitFiles(limit); err != nil {
		return err
	}
	fmt.Println("ready")
	go appendForever(ctx, journal, set, generation)
	for i := 0; ; i++ {
		v := fmt.Sprintf("txn-%s-%d", generation, i)
		records := []*kgo.Record{
			kafka.Placed(set.Journal(), 0, []byte(v), []byte(v)),
			kafka.Placed(set.State(), 0, []byte(v), []byte(v)),
		}
		if err := txn.Run(ctx, records, nil); err != nil {
			return err
		}
		fmt.Printf("+%s.\n", v)
	}
}

func appendForever(ctx context.Context, journal *kgo.Client, set *topics.Set, generation string) {
	slots := make(chan struct{}, 64)
	for i := 0; ; i++ {
		v := fmt.Sprintf("rec-%s-%d", generation, i)
		slots <- struct{}{}
		journal.Produce(ctx, kafka.Placed(set.Journal(), 0, []byte(v), []byte(v)), func(_ *kgo.Record, err error) {
			if err == nil {
				fmt.Printf("+%s.\n", v)
			}
			<-slots
		})
	}
}

// allValues counts the committed values of a topic's partition 0.
func allValues(t *testing.T, c *brokertest.Cluster, topic string) map[string]int {
	t.Helper()
	// The end of the log may be a marker that no reader sees; a record behind
	// it is an end that is seen.
	end := produceEnd(t, c, topic)
	cl, err := kafka.NewPartitionConsumer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(cl)
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	values := map[string]int{}
	var last int64
	for last < end {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			t.Fatal(err)
		}
		fs.EachRecord(func(r *kgo.Record) {
			values[string(r.Value)]++
			last = r.Offset
		})
	}
	delete(values, "end")
	return values
}

func produceEnd(t *testing.T, c *brokertest.Cluster, topic string) int64 {
	t.Helper()
	cl, err := kafka.NewJournalProducer(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	r, err := cl.ProduceSync(t.Context(), kafka.Placed(topic, 0, nil, []byte("end"))).First()
	if err != nil {
		t.Fatal(err)
	}
	return r.Offset
}
