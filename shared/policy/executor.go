package policy

import (
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
)

// Executor is who runs the attempts of a step: Workers, or a pool of runners, as pool:NAME.
type Executor string

// Workers are those that take attempts from their queue, also where the deployment binds it to a pool.
const Workers Executor = "workers"

// Pool is the name of the pool; empty: it is none.
func (e Executor) Pool() string {
	if name, is := strings.CutPrefix(string(e), events.PoolPrefix); is {
		return name
	}
	return ""
}

// executorField is a field that says who runs attempts.
func executorField(name string, of func(*Policy) *Executor) field {
	f := text(name, func(p *Policy) *string { return (*string)(of(p)) })
	f.schema = map[string]any{
		"description": "who runs the attempts: pool:NAME is a pool of runners, workers are those of the queue",
		"type":        "string", "pattern": `^(workers|pool:[A-Za-z0-9][A-Za-z0-9._-]*)$`, "maxLength": len(events.PoolPrefix) + events.MaxPoolName,
	}
	f.read = func(r *decoder, to *Policy, at string, v any, _ bool) {
		s, _ := v.(string)
		if e := Executor(s); e != Workers {
			if pool, is := strings.CutPrefix(s, events.PoolPrefix); !is {
				r.fail(at, fmt.Sprintf("%s: want workers, or pool:NAME", show(v)), "")
			} else if err := events.CheckPoolName(pool); err != nil {
				r.fail(at, err.Error(), "")
			}
		}
		*of(to) = Executor(s)
	}
	return f
}
