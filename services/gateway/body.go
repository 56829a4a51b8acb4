package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/spelling"
)

// readBody reads a request's body within the limit.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.limits.Body))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refuse("too_large", fmt.Sprintf("the body is larger than the limit of %d bytes", g.limits.Body))
	}
	if err != nil {
		return nil, refuse("not_json", "the body could not be read: "+err.Error())
	}
	return bytes.TrimSpace(b), nil
}

// readObject reads a JSON object into into, strictly: unknown fields are
// refused by name. An empty body is an empty object. It returns the bytes.
func (g *Gateway) readObject(w http.ResponseWriter, r *http.Request, into any) ([]byte, error) {
	b, err := g.readBody(w, r)
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		b = []byte("{}")
	}
	if d := events.JSONDepth(b); d > g.limits.Depth {
		return nil, refuse("too_deep", fmt.Sprintf("the body is nested %d deep, the limit is %d", d, g.limits.Depth))
	}
	return b, decodeStrict(b, into)
}

// decodeStrict decodes exactly one JSON object.
func decodeStrict(b []byte, into any) error {
	if len(b) == 0 || b[0] != '{' {
		return refuse("not_json", "the body must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return decodeProblem(err, into)
	}
	if _, err := d.Token(); err != io.EOF {
		return refuse("not_json", "something follows the JSON object")
	}
	return nil
}

func decodeProblem(err error, into any) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return refuseField("invalid_field", t.Field, fmt.Sprintf("a JSON %s does not fit here", t.Value))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name = strings.Trim(name, `"`)
		return refuseField("unknown_field", name, "there is no such field"+spelling.Meant(name, fieldsOf(reflect.TypeOf(into).Elem())))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse("not_json", "the body is not JSON: it ends too early")
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return refuse("not_json", "the body is not JSON: "+err.Error())
	}
	return refuse("invalid_field", err.Error()) // of a field's own decoding
}
