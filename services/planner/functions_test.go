package planner

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// execute runs a task of the cases' functions: NAME or NAME-ARGUMENT behind "f.".
func (w *world) execute(task events.Task) *events.TaskOutcome {
	w.t.Helper()
	token, err := events.PeekToken(task.Token)
	w.must(err)
	key := token.Workflow + " " + task.Component
	w.calls[key]++
	w.keysOf[key] = append(w.keysOf[key], task.IdempotencyKey)
	out := &events.TaskOutcome{Token: task.Token, Outcome: events.OutcomeCompleted, Started: w.now, Finished: w.now, Executor: "test"}
	function := strings.TrimPrefix(task.Task, "f.")
	if of := documentedTasks[task.Task]; of != "" {
		function = of
	}
	name, argument, _ := strings.Cut(function, "-")
	if name == "slow" { // longer than any timeout
		if task.Timeout > 0 && (argument == "" || fmt.Sprint(task.Attempt) == argument) {
			out.Outcome = events.OutcomeTimedOut
			return out
		}
		name = "id"
	}
	var input any
	w.must(json.Unmarshal(task.Input, &input))
	result, err := call(name, argument, input, task)
	switch {
	case err == errUnknown:
		out.Outcome = events.OutcomeUnknownTask
	case err != nil:
		out.Outcome, out.Error = events.OutcomeFailed, &events.TaskError{Type: "boom", Message: err.Error()}
	default:
		out.Result = mustJSON(result)
	}
	return out
}

var errUnknown = fmt.Errorf("unknown")

func call(name, argument string, in any, task events.Task) (any, error) {
	k := 0.0
	if v, err := strconv.ParseFloat(argument, 64); err == nil {
		k = v
	}
	list, _ := in.([]any)
	n, _ := in.(float64)
	num := func(i int) float64 { v, _ := list[i].(float64); return v }
	switch name {
	case "id", "pair":
		return in, nil
	case "inc":
		return n + 1, nil
	case "dec":
		return n - 1, nil
	case "dbl":
		return 2 * n, nil
	case "tri":
		return 3 * n, nil
	case "add":
		return n + k, nil
	case "mul":
		return n * k, nil
	case "sum":
		total := 0.0
		for i := range list {
			total += num(i)
		}
		return total, nil
	case "plus":
		return num(0) + num(1), nil
	case "minus":
		return num(0) - num(1), nil
	case "times":
		return num(0) * num(1), nil
	case "tag":
		return []any{argument, in}, nil
	case "gather", "gatherflaky": // adds input to state
		fields := in.(map[string]any)
		state, input := fields["state"].(float64), fields["input"]
		if n, ok := input.(float64); ok && (name == "gather" || task.Attempt > 1) {
			return state + n, nil
		}
		return nil, fmt.Errorf("not now")
	case "box":
		return []any{in}, nil
	case "weigh":
		values := []float64{n}
		if list != nil {
			values = nil
			for i := range list {
				values = append(values, num(i))
			}
		}
		return weigh(values, k), nil
	case "classify":
		return num(0) + num(1) + float64(len(list[2].([]any))), nil
	case "boom":
		return nil, fmt.Errorf("boom")
	case "fussy":
		if n == 0 {
			return nil, fmt.Errorf("zero")
		}
		return in, nil
	case "unless": // tenfold, and fails where it is the argument
		if n == k {
			return nil, fmt.Errorf("it is %s", argument)
		}
		return n * 10, nil
	case "flaky": // fails its first k attempts
		if float64(task.Attempt) <= k {
			return nil, fmt.Errorf("not yet")
		}
		return n * 10, nil
	case "offset":
		var c struct{ Off *float64 }
		if json.Unmarshal(task.Context, &c) != nil || c.Off == nil {
			return nil, fmt.Errorf("missing key off")
		}
		return n + *c.Off, nil
	case "fold":
		of := in.(map[string]any)
		return of["acc"].(float64) + of["item"].(float64), nil
	case "size2":
		return len(list), nil
	case "foldlen":
		of := in.(map[string]any)
		return of["acc"].(float64) + float64(len(of["item"].([]any))), nil
	case "foldflaky":
		if task.Attempt == 1 {
			return nil, fmt.Errorf("not yet")
		}
		return call("fold", "", in, task)
	case "split":
		return strings.Split(in.(string), " "), nil
	case "count":
		counts := map[string]int{}
		for _, v := range list {
			counts[v.(string)]++
		}
		return counts, nil
	case "size":
		return len(in.(map[string]any)), nil
	case "first":
		return list[0], nil
	case "last":
		return list[len(list)-1], nil
	case "lastbeat": // what an earlier attempt has come to
		return task.Heartbeat, nil
	case "key":
		return task.IdempotencyKey, nil
	case "attempt":
		return task.Attempt, nil
	case "kept": // what the context has for it
		var c struct{ Keep *float64 }
		if json.Unmarshal(task.Context, &c) != nil || c.Keep == nil {
			return nil, fmt.Errorf("nothing kept")
		}
		return n + *c.Keep, nil
	case "probed": // a probe: what became of the attempt is the argument
		asked := in.(map[string]any)
		switch argument {
		case "completed":
			return map[string]any{"outcome": "completed", "result": asked["input"].(float64) * 10}, nil
		case "failed":
			return map[string]any{"outcome": "failed", "error": map[string]any{"type": "declined", "message": "no money"}}, nil
		case "not_done":
			return map[string]any{"outcome": "not_done"}, nil
		case "key":
			return map[string]any{"outcome": "completed", "result": []any{asked["attempt"], strings.HasSuffix(asked["idempotency_key"].(string), "/r1"), asked["error"].(map[string]any)["type"]}}, nil
		default:
			return map[string]any{"outcome": "perhaps"}, nil
		}
	}
	return nil, errUnknown
}
