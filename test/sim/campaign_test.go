package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Seeds end in any order: the next campaign begins with the lowest that has not ended.
func TestACampaignGoesOnWithItsLowestUnfinishedSeed(t *testing.T) {
	var out bytes.Buffer
	r := newRunning(Campaign{First: 7, Count: 4}, &out)
	for seed := range uint64(3) {
		if got, more := r.take(); got != 7+seed || !more {
			t.Fatalf("seed %d is handed out, %v", got, more)
		}
	}
	for _, c := range []struct{ ends, goOn uint64 }{{9, 7}, {7, 8}, {8, 10}} {
		r.note(Result{Seed: c.ends}, nil)
		out.Reset()
		r.tell()
		if want := fmt.Sprintf("go on with --seed %d\n", c.goOn); !strings.HasSuffix(out.String(), want) {
			t.Errorf("after seed %d: %q, want %q", c.ends, out.String(), want)
		}
	}
	r.take()
	if seed, more := r.take(); more {
		t.Errorf("seed %d is handed out", seed)
	}
}

// An interrupted campaign begins no seed, ends those under way, and says where to
// go on; seeds that it has not run miss nothing.
func TestAnInterruptedCampaignSaysWhereToGoOn(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	out := &afterwards{do: interrupt}
	err := Campaign{First: 5, Count: 2 * EnoughSeeds, Steps: 20, Every: 1}.Run(ctx, out)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted campaign ends with %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var done, goOn uint64
	last := lines[len(lines)-1]
	if _, err := fmt.Sscanf(last, "%d seeds", &done); err != nil || done == 0 || done > EnoughSeeds {
		t.Fatalf("the last line is %q: %v", last, err)
	}
	if _, err := fmt.Sscanf(last[strings.Index(last, "--seed"):], "--seed %d", &goOn); err != nil || goOn != 5+done {
		t.Errorf("%d seeds are done; go on with %d", done, goOn)
	}
}

// afterwards is a buffer that does something after its first write.
type afterwards struct {
	bytes.Buffer
	do func()
}

func (a *afterwards) Write(b []byte) (int, error) {
	defer a.do()
	return a.Buffer.Write(b)
}
