package badinput

import (
	"net/http"
	"testing"
)

// TestCommandsInTheWrongStateAreRefused asks over Kafka and over HTTP; the table
// of commands and states as a whole is the planner's own test.
func TestCommandsInTheWrongStateAreRefused(t *testing.T) {
	r := start(t)
	idle, closed, stopped, failed, unknown := r.idOn(0), r.idOn(1), r.idOn(0), r.idOn(1), r.idOn(0)
	r.done(r.do(idle, "start", `{"definition":`+good+`}`))
	r.done(r.do(closed, "start", `{"definition":`+good+`}`))
	r.done(r.do(closed, "cancel", `{}`))
	r.done(r.do(stopped, "start", `{"definition":`+good+`}`))
	r.done(r.do(stopped, "stop", `{}`))
	r.done(r.do(failed, "start", `{"definition":{"name":"fails","components":{"a":{"expr":"input.x"}}},"input":{}}`))
	for name, c := range map[string]struct {
		id, command, body string
		code              string
		status            int
	}{
		"start of what exists":   {idle, "start", `{"definition":` + good + `}`, "already_started", 409},
		"input when closed":      {closed, "input", `{"input":1}`, "closed", 409},
		"pause when closed":      {closed, "pause", `{}`, "closed", 409},
		"retry when closed":      {closed, "retry", `{}`, "closed", 409},
		"input when stopped":     {stopped, "input", `{"input":1}`, "stopped", 409},
		"pause when stopped":     {stopped, "pause", `{}`, "stopped", 409},
		"pause when failed":      {failed, "pause", `{}`, "invalid_state", 409},
		"resume when failed":     {failed, "resume", `{}`, "invalid_state", 409},
		"nothing to retry":       {idle, "retry", `{}`, "nothing_to_retry", 409},
		"nothing to skip":        {idle, "skip", `{"runnable":"r7"}`, "nothing_to_skip", 409},
		"delete of what is open": {idle, "delete", `{}`, "not_closed", 409},
		"input of nobody":        {unknown, "input", `{"input":1}`, "not_found", 404},
		"resume of nobody":       {unknown, "resume", `{}`, "not_found", 404},
		"checkpoint of nobody":   {unknown, "checkpoint", `{}`, "not_found", 404},
	} {
		t.Run(name, func(t *testing.T) {
			r := r.of(t)
			r.refused(r.do(c.id, c.command, c.body), c.code, "")
			method, path := route(c.id, c.command)
			if method == http.MethodDelete {
				c.body = ""
			}
			r.isProblem(r.ask(method, path, c.body), c.status, c.code, "")
		})
	}
	for _, what := range []string{"", "/results", "/productions", "/facts", "/runnables", "/graph"} {
		r.isProblem(r.ask("GET", "/v1/workflows/"+unknown+what, ""), 404, "not_found", "")
	}
	r.goesOn()
}

func route(id, command string) (method, path string) {
	path = "/v1/workflows/" + id
	switch command {
	case "start":
		return http.MethodPut, path + "?wait=accepted"
	case "delete":
		return http.MethodDelete, path
	case "input":
		return http.MethodPost, path + "/inputs?wait=accepted"
	}
	return http.MethodPost, path + "/" + command
}

func TestCommandsToPartitionsAreNotThoseOfWorkflows(t *testing.T) {
	r := start(t)
	r.refused(r.partitionCommand(0, 0, "pause", `{}`), "invalid_command", "")
	r.refused(r.partitionCommand(0, 0, "request_replay", `{"cursor":"nonsense","by":"ann","why":"test"}`), "invalid_cursor", "")
	r.refused(r.partitionCommand(0, 0, "request_replay", `{"cursor":"commands@1000000","by":"ann","why":"test"}`), "invalid_cursor", "")
	r.refused(r.partitionCommand(0, 1, "checkpoint", `{}`), "wrong_partition", "key")
	r.done(r.partitionCommand(0, 0, "request_replay", `{"cursor":"commands@0","by":"ann","why":"test"}`))
	r.done(r.partitionCommand(1, 1, "checkpoint", `{"by":"ann","why":"test"}`))
	r.refused(r.partitionCommand(1, 1, "checkpoint", `{"by":"ann"}`), "missing_field", "why")
	r.refused(r.do(r.idOn(0), "force_release", `{"by":"ann","why":"test"}`), "unknown_command", "")
	r.goesOn()
}
