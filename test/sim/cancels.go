package sim

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// noteCancel notes that an owner cancels an attempt: workers do not begin it any more. Those that run it
// end it as they would have, so that outcomes come late.
func (w *world) noteCancel(rec *kgo.Record) {
	var c events.TaskCancel
	if rec.Topic != w.c.names.TaskControl() || wire.Unmarshal(rec.Value, &c) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cancelled[string(c.Token)] = true
}

func (w *world) isCancelled(token []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cancelled[string(token)]
}
