package sim

import (
	"bytes"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/wire"
)

// onceSeen are the tasks that workers met, by token.
type onceSeen map[string][]byte

// same holds that all tasks of one token are the same (E1). Only what workers have
// said of the attempt since may be another. It returns what was met first when
// that differs.
func (s onceSeen) same(task *events.Task) (first, now []byte) {
	plain := *task
	plain.Heartbeat = nil
	now = wire.Marshal(&plain)
	first, met := s[string(task.Token)]
	if !met {
		s[string(task.Token)] = now
		return nil, now
	}
	if bytes.Equal(first, now) {
		return nil, now
	}
	return first, now
}
