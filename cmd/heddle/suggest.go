package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/definition"
)

// sampleInput are the arguments of a first `heddle run`: a value for each field
// that the definition's schema requires.
func sampleInput(def *definition.Definition) string {
	var doc struct {
		Input struct {
			Schema struct {
				Type       string   `json:"type"`
				Required   []string `json:"required"`
				Properties map[string]struct {
					Type any   `json:"type"`
					Enum []any `json:"enum"`
				} `json:"properties"`
			} `json:"schema"`
		} `json:"input"`
	}
	if err := json.Unmarshal(def.Canonical(), &doc); err != nil {
		return "--input '{}'" // a schema of another shape
	}
	var pairs []string
	for _, name := range doc.Input.Schema.Required {
		p := doc.Input.Schema.Properties[name]
		sample, ok := sampleOf(p.Type)
		if len(p.Enum) > 0 {
			sample, ok = fmt.Sprint(p.Enum[0]), true
		}
		if !ok {
			return "--input @FILE" // a list or an object that a person has to write
		}
		pairs = append(pairs, name+"="+sample)
	}
	if len(pairs) == 0 {
		return "--input '{}'"
	}
	return strings.Join(pairs, " ")
}

// sampleOf is a value of a schema's type, or of one of its types.
func sampleOf(schemaType any) (sample string, ok bool) {
	types, several := schemaType.([]any)
	if !several {
		types = []any{schemaType}
	}
	for _, t := range types {
		switch t {
		case "string":
			return "text", true
		case "integer":
			return "1", true
		case "number":
			return "1.5", true
		case "boolean":
			return "true", true
		}
	}
	return "", false
}
