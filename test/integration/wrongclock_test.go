//go:build integration

package integration

import (
	"context"
	endian "encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	tcexec "github.com/testcontainers/testcontainers-go/exec"
)

// The broker that leads the inbox's first partition has a wrong clock, ahead and then
// behind. It is warned of by its id, and it stops nobody: the owners stay, and decide.
// It is the last test of these brokers, as its file is: Kafka measures by the time of
// day how far replicas lag, and is not itself for as long as a clock has leapt.
func TestOneBrokersClock(t *testing.T) {
	d := onThree(t, 2)
	theThree.needsClocks(t)
	all, err := d.admin().ListTopics(t.Context(), d.names.Inbox())
	if err != nil {
		t.Fatal(err)
	}
	broker := all[d.names.Inbox()].Partitions[0].Leader
	d.decideIn("before", 0, 1, 2, 3)
	h := d.hear()
	owners := instances(d.partitionOwners("before"))
	for name, wrong := range map[string]time.Duration{"ahead of": 5 * time.Minute, "behind": -5 * time.Minute} {
		theThree.setClock(t, broker, wrong)
		began := time.Now()
		h.appears(fmt.Sprintf("the clock of broker %d is ", broker), name)
		d.decideIn(name[:5], 0, 1, 2, 3)
		t.Logf("A BROKER'S CLOCK: %s by %s, warned of and decided %s later", name, wrong.Abs(), time.Since(began).Round(time.Millisecond))
	}
	theThree.setClock(t, broker, 0)
	h.vanishes("the clock of broker ")
	if now := instances(d.partitionOwners("before")); !maps.Equal(now, owners) {
		t.Errorf("one broker's clock has made the owners %v, they were %v", now, owners)
	}
}

// instances are the owners without their epochs: a stamp that leaps ends a tenure until
// the clocks are compared.
func instances(owners map[int32]string) map[int32]string {
	for p, owner := range owners {
		owners[p], _, _ = strings.Cut(owner, " ")
	}
	return owners
}

// What a node is preloaded with, and the file that says how wrong its clock is.
const (
	clockInNode = "/heddle-clock.so"
	clockFile   = "/heddle-clock"
)

// clockLibrary builds what gives a node a clock of its own. Without a C compiler there
// is none, and the test of it says so.
func clockLibrary(ctx context.Context) (string, error) {
	cc, err := exec.LookPath("cc")
	if errors.Is(err, exec.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	built := filepath.Join(filepath.Dir(binary), "clock.so")
	out, err := exec.CommandContext(ctx, cc, "-shared", "-fPIC", "-O1", "-nostdlib", "-o", built, filepath.Join("clock", "clock.c")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the clock: %w\n%s", err, out)
	}
	return built, nil
}

// withClock gives a node the library and a clock that is right.
func (c *three) withClock() testcontainers.CustomizeRequestOption {
	return func(req *testcontainers.GenericContainerRequest) error {
		if c.clock == "" {
			return nil
		}
		req.Files = append(req.Files,
			testcontainers.ContainerFile{HostFilePath: c.clock, ContainerFilePath: clockInNode, FileMode: 0o755},
			testcontainers.ContainerFile{Reader: strings.NewReader(string(make([]byte, 8))), ContainerFilePath: clockFile, FileMode: 0o666})
		req.Env["LD_PRELOAD"], req.Env["HEDDLE_CLOCK"] = clockInNode, clockFile
		return nil
	}
}

// needsClocks says clearly when a test of clocks cannot be run. CI has what it needs.
func (c *three) needsClocks(t *testing.T) {
	t.Helper()
	if c.clock != "" {
		return
	}
	const why = "NO C COMPILER, or brokers that were given: no broker's clock can be set"
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// setClock lets a node's time of day be wrong by so much, until the test ends.
func (c *three) setClock(t *testing.T, node int32, wrong time.Duration) {
	t.Helper()
	set := func(ctx context.Context, wrong time.Duration) {
		var octal strings.Builder
		for _, b := range seconds(wrong) {
			fmt.Fprintf(&octal, `\%03o`, b)
		}
		// Written in place: the node has the file mapped.
		write := fmt.Sprintf("printf '%s' | dd of=%s bs=8 conv=notrunc", octal.String(), clockFile)
		code, out, err := c.ours[node-1].Exec(ctx, []string{"sh", "-c", write}, tcexec.Multiplexed())
		if err != nil || code != 0 {
			said, _ := io.ReadAll(out)
			t.Fatalf("setting the clock of node %d: %d, %v: %s", node, code, err, said)
		}
	}
	set(t.Context(), wrong)
	t.Cleanup(func() { set(context.WithoutCancel(t.Context()), 0) })
}

// seconds are those of a duration, as the library reads them.
func seconds(d time.Duration) []byte {
	return endian.LittleEndian.AppendUint64(nil, uint64(int64(d/time.Second)))
}
