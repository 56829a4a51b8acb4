package planner

import (
	"bytes"
	"testing"

	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Behind an outage of its planner a runnable must not ask again for a permit whose grant is in the inbox: a rate spends
// another one on it, which nobody uses. So the timer waits for the inbox, and none is left behind whatever ends the wait.
func TestWhoAsksForAPermitAgainReadsItsInboxFirst(t *testing.T) {
	for _, c := range []struct{ name, policy, end string }{
		{"granted", "{rate_limit: {key: \"'k'\", limit: 1, per: 1h}}", "advance 3600000"},
		{"asked again", "{rate_limit: {key: \"'k'\", limit: 1, per: 1h}}", "advance 60000\nadvance 60000\nadvance 3600000"},
		{"cancelled", "{rate_limit: {key: \"'k'\", limit: 1, per: 1h}}", "cancel w"},
		{"paused", "{rate_limit: {key: \"'k'\", limit: 1, per: 1h}}", "pause w\nadvance 3600000"},
		{"concurrency", "{concurrency: {key: \"'k'\", limit: 1}}", "run"},
		{"both", "{concurrency: {key: \"'k'\", limit: 1}, rate_limit: {key: \"'k'\", limit: 1, per: 1h}}", "run\nadvance 3600000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setting{name: "plain"})
			if wrong := w.define("d", "name: d\ncomponents: {s: {step: f.inc, policy: "+c.policy+"}}\noptions: {retain: {cancelled: forever}}"); wrong != "" {
				t.Fatal(wrong)
			}
			var said bytes.Buffer
			w.line(&said, "start v d 5")
			w.line(&said, "start w d 5")
			timers := func() (all []rows.Key) {
				rows.Scan(rows.Begin(&w.state), rows.Key{Table: rows.Timer}, func(k rows.Key, _ *machine.Timer) bool { all = append(all, k); return true })
				return all
			}
			if all := timers(); len(all) != 1 || !machine.Guarded(all[0].C) {
				t.Errorf("while it waits the timers are %v, want one that is guarded", all)
			}
			for _, line := range bytes.Split([]byte(c.end), []byte("\n")) {
				w.line(&said, string(line))
			}
			if all := timers(); len(all) != 0 {
				t.Errorf("the wait is over, and the timers are %v", all)
			}
			if said.Len() > 0 {
				t.Error(said.String())
			}
		})
	}
}
