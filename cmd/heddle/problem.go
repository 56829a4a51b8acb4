package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/sdk/client"
)

// problem is an error as the API tells it (RFC 9457).
type problem struct {
	Type     string              `json:"type"`
	Title    string              `json:"title"`
	Status   int                 `json:"status,omitempty"` // of the HTTP answer, where one was the error
	Detail   string              `json:"detail"`
	Errors   []client.FieldError `json:"errors"`
	Workflow *client.Workflow    `json:"workflow,omitempty"`
}

// reportJSON prints err, if any, as a problem on one line, and returns the exit code
// that it means.
func reportJSON(w io.Writer, err error) int {
	if err == nil {
		return codeDone
	}
	_ = json.NewEncoder(w).Encode(problemOf(err)) // nobody is left to tell
	return codeOf(err)
}

// asksJSON reports whether a command line that cannot be read, or else the environment,
// asks for JSON.
func asksJSON(args []string) bool {
	last := os.Getenv("HEDDLE_OUTPUT")
	for i, arg := range args {
		switch {
		case arg == "--":
			return last == "json"
		case (arg == "-o" || arg == "--output") && i+1 < len(args):
			last = args[i+1]
		case strings.HasPrefix(arg, "--output="):
			last = strings.TrimPrefix(arg, "--output=")
		case strings.HasPrefix(arg, "-o"):
			last = strings.TrimPrefix(strings.TrimPrefix(arg, "-o"), "=")
		}
	}
	return last == "json"
}

// problemOf is an error as a problem. Those that no API has made have a code by what
// the exit code means.
func problemOf(err error) problem {
	p := problem{Detail: err.Error(), Errors: []client.FieldError{}}
	code := map[int]string{codeUsage: "usage", codeUnreachable: "unavailable", codeHeld: "held", codeConditions: "conditions"}[codeOf(err)]
	if code == "" {
		code = "failed"
	}
	var refused *client.Error
	var failed *client.FailedError
	var invalid *definitionFileError
	var mismatch *topics.MismatchError
	switch {
	case errors.As(err, &refused):
		code, p.Status, p.Workflow = refused.Code, refused.Status, refused.Workflow
		if refused.Message != "" {
			p.Detail = refused.Message // the API's words, and nothing around them
		}
		p.Errors = append(p.Errors, refused.Errors...)
		if refused.Path != "" {
			p.Errors = append(p.Errors, client.FieldError{Path: refused.Path, Message: strings.TrimPrefix(refused.Message, refused.Path+": ")})
		}
	case errors.As(err, &failed):
		code, p.Workflow = "workflow_"+string(failed.Workflow.Status), failed.Workflow
	case errors.As(err, &invalid):
		code = "invalid_definition"
		for _, e := range invalid.errs {
			p.Errors = append(p.Errors, client.FieldError{Path: e.Path, Message: e.Advice(), Line: e.Line, Column: e.Column})
		}
	case errors.As(err, &mismatch):
		code = "topics_differ"
		for _, d := range mismatch.Differences {
			p.Errors = append(p.Errors, client.FieldError{Path: d.Topic, Message: strings.TrimPrefix(d.String(), d.Topic+": ")})
		}
	}
	p.Type, p.Title = "urn:heddle:problem:"+code, strings.ReplaceAll(code, "_", " ")
	return p
}
