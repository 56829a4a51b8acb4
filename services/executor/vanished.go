package executor

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/services/executor/tmux"
)

// place is where a text was delivered to. As text it is the ID of the work: what is known of a program that has been told.
type place struct {
	Socket string `json:"socket"`
	Server string `json:"server"` // its process ID: another one numbers its panes anew
	Pane   string `json:"pane"`
}

func placeOf(s *submission) place { return place{s.Socket, s.serverID, s.pane} }

// String is the place as an ID; empty, so that nobody asks for it, where it is too long for one.
func (p place) String() string {
	b, err := json.Marshal(p)
	if err != nil || len(b) > executor.MaxID {
		return ""
	}
	return string(b)
}

// Recover implements executor.Adapter. What programs do with what they were told, they tell by the attempt's token; here is said whether they
// can: a work is running while its pane is there and the command in it has not ended, as far as tmux can tell, and unknown behind that.
func (t *terminalSubmit) Recover(ctx context.Context, refs []executor.Ref) ([]executor.State, error) {
	states := make([]executor.State, len(refs))
	servers := map[string][]tmux.Pane{}
	for i, ref := range refs {
		states[i] = executor.Unknown()
		var at place
		if json.Unmarshal([]byte(ref.ID), &at) != nil || len(t.panes.sessions[at.Socket]) == 0 {
			continue
		}
		panes, asked := servers[at.Socket]
		if !asked {
			var err error
			if panes, err = (tmux.Server{Socket: at.Socket}).Panes(ctx); err != nil {
				return nil, err
			}
			servers[at.Socket] = panes
		}
		if slices.ContainsFunc(panes, at.lives) {
			states[i] = executor.Running()
		}
	}
	return states, nil
}

// lives reports whether the program of a place may live in a pane.
func (p place) lives(in tmux.Pane) bool {
	return in.ID == p.Pane && in.Server == p.Server && !in.Dead
}
