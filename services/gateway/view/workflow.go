package view

import (
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/search"
)

// workflowOf is what a filter looks at of a stored status. What is not of the form that
// planners write is as if it were not there: somebody else wrote it.
func workflowOf(id, status []byte) (search.Workflow, error) {
	var s struct {
		Status     string               `json:"status"`
		CreatedAt  string               `json:"created_at"`
		UpdatedAt  jsontext.Value       `json:"updated_at"`
		Definition events.DefinitionRef `json:"definition"`
		Labels     jsontext.Value       `json:"labels"`
		Failure    jsontext.Value       `json:"failure"`
		Conditions jsontext.Value       `json:"condition_errors"`
	}
	if err := jsonv2.Unmarshal(status, &s, asStored); err != nil {
		return search.Workflow{}, err
	}
	d := s.Definition
	return search.Workflow{
		ID: string(id), Status: s.Status, Name: d.Name, Version: d.Version, Digest: d.Digest,
		Labels: labelsOf(s.Labels), Failures: failuresOf(s.Failure, s.Conditions),
		Created: timeOf(s.CreatedAt), Updated: timeOf(textOf(s.UpdatedAt)),
	}, nil
}

// timeOf reads a time to the millisecond, by which workflows are ordered.
func timeOf(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli())
}

// textOf is a JSON text; empty for all else.
func textOf(raw jsontext.Value) string {
	var s string
	if raw.Kind() != '"' || jsonv2.Unmarshal(raw, &s, asStored) != nil {
		return ""
	}
	return s
}

// labelsOf are labels as a filter writes them: texts without their quotes, all else as
// JSON. What is no object has none.
func labelsOf(raw jsontext.Value) map[string]string {
	var values map[string]jsontext.Value
	if raw.Kind() != '{' || jsonv2.Unmarshal(raw, &values, asStored) != nil {
		return nil
	}
	labels := make(map[string]string, len(values))
	for name, value := range values {
		if value.Kind() == '"' {
			labels[name] = textOf(value)
		} else {
			labels[name] = string(value)
		}
	}
	return labels
}

// failuresOf are the failure that halted a workflow, and those of conditions.
func failuresOf(failure, conditions jsontext.Value) (all []search.Failure) {
	var one struct {
		Component string `json:"component"`
		Error     struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if failure.Kind() == '{' && jsonv2.Unmarshal(failure, &one, asStored) == nil {
		all = append(all, search.Failure{Component: one.Component, Type: one.Error.Type, Message: one.Error.Message})
	}
	var some struct {
		First []jsontext.Value `json:"first"`
	}
	if conditions.Kind() == '{' && jsonv2.Unmarshal(conditions, &some, asStored) == nil {
		for _, f := range some.First {
			all = append(all, failuresOf(f, nil)...)
		}
	}
	return all
}
