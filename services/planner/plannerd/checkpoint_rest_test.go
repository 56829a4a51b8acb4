package plannerd_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A workflow of a strategy that waits comes to rest, in each way, with three steps completed.
func TestWhatComesToRestIsInTheChangelog(t *testing.T) {
	const onIdle = `{"checkpoint":"on_complete","close":"on_idle"}`
	for _, rest := range []struct {
		name, options, command, body string
		want                         int
	}{
		{"stopped", `{"checkpoint":"on_complete"}`, "stop", `{"drain":"1s"}`, 3},
		{"stopped, manual", `{"checkpoint":"manual"}`, "stop", `{"drain":"1s"}`, 3},
		{"stopped without a checkpoint", `{"checkpoint":"on_complete"}`, "stop", `{"drain":"1s","persist":false}`, absent},
		{"cancelled", onIdle, "cancel", `{}`, 3},
		{"paused only", onIdle, "pause", `{}`, absent},
		{"deleted", `{"checkpoint":"every_cycle"}`, "delete", `{"force":true}`, absent},
	} {
		t.Run(rest.name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.held = make(chan *kgo.Record, steps)
				log := w.changelog()
				_, kill, _ := w.mortal("a")
				<-time.After(between)
				w.command("w", "start", chain(rest.options))
				for range 3 {
					w.complete(<-w.held)
				}
				<-w.held
				w.command("w", rest.command, rest.body)
				<-time.After(between)
				if got := log.completed(t, "w"); got != rest.want {
					t.Errorf("the changelog has %d completed steps, want %d", got, rest.want)
				}
				if err := kill(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
