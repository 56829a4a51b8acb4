package planner

import (
	"bytes"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
)

// attempt is where an open attempt was sent, by its token as a text.
func (vw *view) attempt(text string) (any, *events.Refusal) {
	sealed, err := events.ParseTokenText(text)
	if err == nil {
		var token events.Token
		if token, err = events.PeekToken(sealed); err == nil {
			r := rows.Get[runnable](vw.tx, runnableKey(vw.id, token.Runnable))
			if r != nil && r.Status == runActive && bytes.Equal(vw.token(token.Runnable, r.Attempt, r.Decided), sealed) {
				return events.AttemptPlace{Pool: r.poolName()}, nil
			}
		}
	}
	return nil, &events.Refusal{Code: "not_found", Message: "the workflow has no open attempt with this token"}
}
