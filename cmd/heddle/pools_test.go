package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

const pictures = `
name: pictures
components:
  small: {step: test.echo, policy: {executor: pool:images}}
`

// runnersConnect says, as an executor does, that runners with one slot have connected to the pool images.
func runnersConnect(t *testing.T, keys ...string) {
	t.Helper()
	at, err := devfile.Running()
	if err != nil {
		t.Fatal(err)
	}
	cfg := kafka.Config{Brokers: at.Brokers}
	names, err := cfg.Names()
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kafka.NewEffectsProducer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for i, key := range keys {
		report := events.EncodeInbox(&events.RunnerReport{
			Connection: events.Connection{Executor: "x", Number: uint64(i + 1)}, Hello: &events.RunnerHello{Key: key, Name: "thumbnails", Version: 3, Slots: 1, Instance: "i"},
		})
		if err := cl.ProduceSync(t.Context(), kafka.Keyed(names.Inbox(), []byte("pool:images"), report)).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// What waits for a runner is seen, as the API tells it; a runner that is stopped gets no more, and one that is stopped at once loses
// what it has.
func TestPoolsAndRunnersAreShownAndStopped(t *testing.T) {
	elsewhere(t)
	write(t, "pictures.yaml", pictures)
	url := urlOf(t, running(t, "pictures.yaml"))
	for i := range 3 {
		succeed(t, "start", "pictures", "n=1", "--id", fmt.Sprintf("w%d", i))
	}
	eventually(t, "all three wait", func() bool { return strings.Contains(succeed(t, "pools"), " 3 ") })
	contains(t, succeed(t, "pools"), "images  0          0     0         0      0     0        3       ", " no runner is connected\n")
	token := strings.Fields(succeed(t, "runnables", "w1", "--tokens"))
	contains(t, succeed(t, "pools", "images", "--attempt", token[len(token)-1]), "images: 0 runners are connected, 0 lost, 0 draining; 0 of 0 slots are free, 0 attempts run, 3 wait\n",
		"the queue waits: no runner is connected\n", "the attempt: w1 r1 is number 2 of 3\n", "PLACE  WORKFLOW  RUNNABLE  ATTEMPT  QUEUE", "\n2      w1        r1        1        ")
	contains(t, succeed(t, "explain", "w1"), `a free slot of a runner of the pool "images": it is number 2 of 3 in the queue, and no runner is connected`)

	runnersConnect(t, "host-1", "host-2")
	eventually(t, "two run", func() bool { return strings.Contains(succeed(t, "pools", "images"), "2 attempts run, 1 wait") })
	list := succeed(t, "runners")
	contains(t, list, "RUNNER", "  host-1  thumbnails  3        connected  1 of 1  ")
	contains(t, succeed(t, "pools", "images", "--attempt", token[len(token)-1]), "the attempt: w1 r1 is starting at the runner images.")
	for _, c := range []struct {
		args []string
		path string
	}{
		{[]string{"pools"}, "/v1/pools"},
		{[]string{"pools", "images"}, "/v1/pools/images"},
		{[]string{"pools", "nobody"}, "/v1/pools/nobody"},
		{[]string{"runners"}, "/v1/runners"},
		{[]string{"runners", "--pool", "images", "--limit", "1"}, "/v1/runners?pool=images&limit=1"},
		{[]string{"explain", "w2"}, "/v1/workflows/w2/explain"},
	} {
		_, out, err := heddle(t, "", append(c.args, "-o", "json")...)
		if got, want := decoded(t, out+err), asked(t, url+c.path); !reflect.DeepEqual(got, want) {
			t.Errorf("heddle %s -o json:\n%v\nthe API:\n%v", strings.Join(c.args, " "), got, want)
		}
	}
	by := []string{"--by", "ann", "--why", "the host is replaced"}
	contains(t, succeed(t, append([]string{"runners", "stop", "images", "host-1"}, by...)...),
		"runner host-1: it gets no more work, and ends once it has none; what it is at: heddle runners --pool images\n")
	contains(t, succeed(t, append([]string{"runners", "stop", "images", "host-2", "--now"}, by...)...), "runner host-2: it is over, and so is what it had")
	contains(t, succeed(t, "runners", "--pool", "images"), "  draining  1 of 1  ", "an operator stopped it\n", "  stopped   0 of 1  ", "an operator stopped it at once\n")
	code, _, told := heddle(t, "", append([]string{"runners", "stop", "images", "host-9"}, by...)...)
	if code != codeFailed || !strings.Contains(told, "the pool has no runner host-9") {
		t.Errorf("exit %d: %s", code, told)
	}
}

func TestAWordToARunnerNeedsWhoAndWhy(t *testing.T) {
	elsewhere(t)
	for line, want := range map[string]string{
		"runners stop images a --by ann":          "--why",
		"runners stop images a --why odd":         "--by",
		"runners stop images --by ann --why odd":  `expected "<runner>"`,
		"pools --attempt x":                       "--attempt is of one pool",
		"runners list images":                     "see: heddle runners list --help",
		"runners halt images a --by ann --why no": "see: heddle runners --help",
	} {
		if code, _, told := heddle(t, "", strings.Fields(line)...); code != codeUsage || !strings.Contains(told, want) {
			t.Errorf("%q: exit %d: %s", line, code, told)
		}
	}
	if got := ago(nil, time.Time{}); got != "" {
		t.Errorf("no time is %q", got)
	}
}
