package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/shared/expr"
	"github.com/heddle-run/heddle/shared/policy"
)

// Limits of a definition.
const (
	MaxSource     = 1 << 20   // bytes of source
	MaxCanonical  = 512 << 10 // bytes of canonical form: it must fit one record beside its labels
	MaxDepth      = 64        // nesting of the source
	MaxNodes      = 200_000   // values, with YAML aliases expanded
	MaxComponents = 5_000
	MaxPatterns   = 50_000 // instructions of regular expressions in expressions, as expr.MaxPattern counts them
)

// tree reads source text into values as expr.Decode gives them: nil, bool, int64, float64, string, []any,
// map[string]any. It collects what is wrong instead of stopping at the first.
type tree struct {
	errs  Errors
	nodes int
}

func (t *tree) fail(at *place, message, fix string) {
	if len(t.errs) < policy.MaxErrors {
		t.errs = append(t.errs, Error{Path: at.String(), Message: message, Fix: fix})
	}
}

// enter counts a value against the limits.
func (t *tree) enter(at *place, depth int) error {
	if t.nodes++; t.nodes > MaxNodes {
		return fmt.Errorf("more than %d values", MaxNodes)
	}
	if depth > MaxDepth {
		return fmt.Errorf("%s: nested deeper than %d", at, MaxDepth)
	}
	return nil
}

// readTree reads JSON, or else YAML.
func readTree(src []byte) (any, Errors) {
	if len(src) > MaxSource {
		return nil, Errors{{Message: fmt.Sprintf("the source has %d bytes, more than %d", len(src), MaxSource),
			Fix: "split the workflow, or move data out of params"}}
	}
	var jsonErr error
	if bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		t := tree{}
		v, err := t.json(src)
		if err == nil {
			return v, t.errs
		}
		jsonErr = err
	}
	t := tree{}
	v, err := t.yaml(src)
	switch {
	case err == nil:
		return v, t.errs
	case jsonErr != nil: // it looks like JSON; say what is wrong with it as JSON
		err = jsonErr
	}
	if at, ok := errors.AsType[*syntaxError](err); ok {
		return nil, Errors{{Message: at.message, Fix: at.fix, Line: at.line, Column: at.column}}
	}
	return nil, Errors{{Message: err.Error()}}
}

// syntaxError is a place from which on a source cannot be read.
type syntaxError struct {
	message, fix string
	line, column int // from 1
}

func (e *syntaxError) Error() string { return e.message }

func (t *tree) json(src []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	v, err := t.jsonValue(d, nil, 0)
	if err != nil {
		return nil, notJSON(src, d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, notJSON(src, d.InputOffset(), errors.New("more than one value"))
	}
	return v, nil
}

// notJSON is what is wrong behind a byte.
func notJSON(src []byte, at int64, err error) error {
	before := src[:min(int(at), len(src))]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return &syntaxError{
		message: fmt.Sprintf("not JSON: %v", err),
		line:    bytes.Count(before, []byte("\n")) + 1, column: len(before) - bytes.LastIndexByte(before, '\n'),
	}
}

func (t *tree) jsonValue(d *json.Decoder, at *place, depth int) (any, error) {
	if err := t.enter(at, depth); err != nil {
		return nil, err
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return t.jsonObject(d, at, depth)
		}
		return t.jsonList(d, at, depth)
	case json.Number:
		n, err := expr.ParseNumber(v.String())
		if err != nil {
			t.fail(at, shortened(err.Error()), "write it as a text")
		}
		return n, nil
	}
	return token, nil
}

func (t *tree) jsonList(d *json.Decoder, at *place, depth int) (any, error) {
	out := []any{}
	for d.More() {
		v, err := t.jsonValue(d, at.item(len(out)), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.Token()
	return out, err
}

func (t *tree) jsonObject(d *json.Decoder, at *place, depth int) (any, error) {
	out := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder accepts nothing else here
		v, err := t.jsonValue(d, at.member(key), depth+1)
		if err != nil {
			return nil, err
		}
		t.put(out, at, key, v)
	}
	_, err := d.Token()
	return out, err
}

// put adds a member, refusing a name that is there already.
func (t *tree) put(object map[string]any, at *place, key string, v any) {
	if _, twice := object[key]; twice {
		t.fail(at.member(key), "given twice", "rename or remove one")
	}
	object[key] = v
}

func join(path, key string) string {
	if path == "" {
		return shortened(key)
	}
	return path + "." + shortened(key)
}

// sortedKeys are the keys of an object in order.
func sortedKeys[T any](object map[string]T) []string { return slices.Sorted(maps.Keys(object)) }
