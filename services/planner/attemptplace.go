package planner

import "github.com/heddle-run/heddle/shared/events"

// attempt is where an open attempt was sent, by its token as a text.
func (vw *view) attempt(token string) (any, *events.Refusal) {
	if _, r := vw.runs.named(token); r != nil {
		return events.AttemptPlace{Pool: r.poolName()}, nil
	}
	return nil, &events.Refusal{Code: "not_found", Message: "the workflow has no open attempt with this token"}
}
