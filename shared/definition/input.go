package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/heddle-run/heddle/shared/policy"
)

// inputSchema is the JSON Schema of a definition's input, or of a signal.
type inputSchema struct {
	schema   *jsonschema.Schema
	raw      any // as it was given, for its defaults
	defaults bool
}

// AcceptInput checks an input against the definition's schema and fills in the schema's defaults. Without a schema, or
// where no default applies, it is raw itself; empty is null. Its error is Errors with paths such as input.lines[0].
func (g *Graph) AcceptInput(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("null")
	}
	if g.input == nil {
		return raw, nil
	}
	return g.input.accept(raw)
}

// accept checks a value and fills in the defaults, as AcceptInput says.
func (s *inputSchema) accept(raw json.RawMessage) (json.RawMessage, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, Errors{{Path: "input", Message: "is no JSON value: " + err.Error()}}
	}
	if !affordable(s.schema, v) {
		return nil, Errors{{Path: "input", Message: fmt.Sprintf("takes more than %d steps to check", maxSchemaSteps),
			Fix: "give less at once, or simplify the schema, which may visit the same value many times over"}}
	}
	changed := false
	if s.defaults {
		v, changed = withDefaults(s.raw, s.raw, v, 0)
	}
	if err := s.schema.Validate(v); err != nil {
		return nil, schemaErrors(err, "input")
	}
	if !changed {
		return raw, nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode input with defaults: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// compileSchema compiles a JSON Schema that stands alone: it may not refer to other documents.
func compileSchema(doc any) (*jsonschema.Schema, error) {
	const url = "heddle:schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// notSchema says what is wrong with a schema, once for each place.
func notSchema(err error, path string) Errors {
	var invalid *jsonschema.SchemaValidationError
	if !errors.As(err, &invalid) {
		return Errors{{Path: path, Message: err.Error()}}
	}
	said := map[string]bool{}
	return slices.DeleteFunc(schemaErrors(invalid.Err, path), func(e Error) bool {
		again := said[e.Path]
		said[e.Path] = true
		return again
	})
}

// noLoader refuses references to other documents: the package does no I/O.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to another document, %s", url)
}

// printer words the validator's messages.
var printer = message.NewPrinter(language.English)

// schemaErrors lists the innermost causes of a failed validation.
func schemaErrors(err error, path string) Errors {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return Errors{{Path: path, Message: err.Error()}}
	}
	var out Errors
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(out) == policy.MaxErrors {
			return
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) == 0 {
			out = append(out, Error{Path: path + dotted(e.InstanceLocation), Message: shortened(e.ErrorKind.LocalizedString(printer))})
		}
	}
	walk(ve)
	return out
}

// dotted writes a location as .lines[0].price.
func dotted(location []string) string {
	var b strings.Builder
	for _, part := range location {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			b.WriteString("[" + part + "]")
			continue
		}
		b.WriteString("." + shortened(part))
	}
	return b.String()
}
