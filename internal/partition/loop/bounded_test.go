package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
)

// Tasks that are published again wait for the newest record behind whose decision they
// stand: meanwhile they count in the bounds of what is on its way, in bytes and in
// records, as what is released does. The others wait for an end of the inbox that is seen later, and all are out in the end.
func TestE1TasksThatArePublishedAgainAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		input    string
		settings Settings
		most     int // tasks that may wait at a time: half of the bound, and one
	}{
		"bytes":   {strings.Repeat("x", 8<<10), Settings{InflightBytes: 64 << 10}, 5},
		"records": {"x", Settings{InflightRecords: 16}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			const inputs = 40
			c.settings.Lease, c.settings.WriteDelay = time.Hour, time.Millisecond
			m := newModel(t, c.settings)
			m.command("start", "w", "start", `{"definition":"counter"}`)
			for i := range inputs {
				m.command(fmt.Sprint("i", i), "w", "input", `{"input":"`+c.input+`"}`)
				m.mustStep()
				m.ack()
				m.delivered()
				m.produced = nil
				m.mustStep()
			}
			m.now = m.now.Add(31 * time.Second)
			m.mustStep()
			m.command("more", "other", "start", `{"definition":"counter"}`)
			m.mustStep() // it is in flight
			m.passed()
			m.inboxRead()
			waits := 0
			for _, f := range m.p.inflight.all {
				for _, o := range f.outs {
					if o.Kind == machine.TaskEffect {
						waits++
					}
				}
			}
			if waits == 0 || waits > c.most {
				t.Errorf("%d tasks wait behind the newest record, want some, and at most %d", waits, c.most)
			}
			out := map[events.RunnableID]int{}
			for range 100 {
				m.ack()
				m.later()
				m.inboxRead()
				m.ack()
				if n := len(m.of(machine.TaskEffect)); n > c.most {
					t.Errorf("%d tasks are out at a time, want at most %d", n, c.most)
				}
				for _, o := range m.of(machine.TaskEffect) {
					out[o.Runnable]++
				}
				m.delivered()
				m.produced = nil
				m.mustStep()
			}
			if len(out) != inputs {
				t.Errorf("%d of %d tasks are out", len(out), inputs)
			}
			if m.p.outside.records != 0 || m.p.outside.bytes != 0 {
				t.Errorf("%d records with %d bytes still count", m.p.outside.records, m.p.outside.bytes)
			}
		})
	}
}
