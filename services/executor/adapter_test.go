package executor

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/internal/adapter"
	"github.com/heddle-run/heddle/sdk/executor"
	"github.com/heddle-run/heddle/sdk/executortest"
	"github.com/heddle-run/heddle/sdk/task"
)

// terminal.submit is an adapter as any other.
func TestTerminalsConform(t *testing.T) {
	executortest.RunTold(t, func(t testing.TB) executortest.Place {
		m := newTerminal(t)
		m.shows("agents", "ready")
		input, err := json.Marshal(map[string]any{"socket": m.socket, "target": "agents", "text": "do it"})
		if err != nil {
			t.Fatal(err)
		}
		return executortest.Place{
			Open:  func(testing.TB) executor.Adapter { return attempted{m.handler()} },
			Task:  "terminal.submit",
			Input: func(int) json.RawMessage { return input },
		}
	})
}

// attempted gives an adapter the context that a worker gives it.
type attempted struct{ *terminalSubmit }

func (a attempted) Dispatch(ctx context.Context, w executor.Work) (executor.Answer, error) {
	at := attempt(w.Task, string(w.Input))
	return a.terminalSubmit.Dispatch(task.WithSource(ctx, &adapter.Source{Attempt: at}), w)
}
