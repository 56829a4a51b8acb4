package loop

import (
	"strings"
	"testing"
)

func TestAReplayOfWhatIsDeletedIsRefused(t *testing.T) {
	m := newModel(t, Settings{})
	m.p.inputs[2].Start, m.p.inputs[2].Next = 5, 9
	m.command("a", "_partition/0", "request_replay", `{"cursor":"commands@3","by":"ann","why":"test"}`)
	m.mustStep()
	if names := m.names(0); strings.TrimSpace(names) != "CommandRefused" {
		t.Errorf("the record is %s", names)
	}
}
