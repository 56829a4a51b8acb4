package plannerd_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/heddle-run/heddle/shared/events"
)

// Timers are rows: they survive their owner and the move to another. Ten thousand that are
// due within one second have fired within two, as time goes in the test.
func TestManyTimersThatOutliveTheirOwnerFireInTime(t *testing.T) {
	const workflows, each = 100, 100
	inWorld(t, func(w *world) {
		_, kill, _ := w.mortal("a")
		due := time.Now().Add(20 * time.Second).UTC()
		components := map[string]any{}
		for i := range each {
			at := fmt.Sprintf("date(input) + duration('%dms')", i*1000/each)
			components[fmt.Sprint("u", i)] = map[string]any{"until": map[string]any{"$": at}}
		}
		body, err := json.Marshal(map[string]any{
			"definition": map[string]any{"name": "many", "components": components}, "input": due.Format(time.RFC3339Nano),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range workflows {
			w.command(fmt.Sprint("many", i), "start", string(body))
		}
		for range workflows {
			w.reply(events.ReplyDecided)
		}
		if err := kill(); err != nil {
			t.Error(err)
		}
		w.fs = vfs.NewMem() // the next owner begins from the changelog
		_, stopB := w.planner("b")
		if !time.Now().Before(due) {
			t.Fatal("the new owner came when the timers were due")
		}
		for range workflows {
			var end struct {
				Workflow events.Summary `json:"workflow"`
			}
			if err := json.Unmarshal(w.reply(events.ReplyDrained).Body, &end); err != nil {
				t.Fatal(err)
			}
			s := end.Workflow
			at := time.UnixMilli(int64(s.Updated))
			if late := at.Sub(due); s.Status != "idle" || s.Counts.Completed != each || late < time.Second-time.Second/each || late > 2*time.Second {
				t.Errorf("%s is %s with %d timers fired, %s behind the first", s.ID, s.Status, s.Counts.Completed, late)
			}
		}
		if err := stopB(); err != nil {
			t.Error(err)
		}
	})
}
