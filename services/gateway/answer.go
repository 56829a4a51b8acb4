package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// writeJSON answers with v. A 200 to a GET carries an ETag, and is a 304 when
// the client has it.
func writeJSON(w http.ResponseWriter, r *http.Request, status int, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	writeBytes(w, r, status, "application/json", b.Bytes())
	return nil
}

func writeBytes(w http.ResponseWriter, r *http.Request, status int, contentType string, b []byte) {
	writeTagged(w, r, status, contentType, b, b)
}

// writeTagged takes the ETag from what counts of b: who owns a partition, and
// until when, is no change of a workflow.
func writeTagged(w http.ResponseWriter, r *http.Request, status int, contentType string, b, counts []byte) {
	if (r.Method == http.MethodGet || r.Method == http.MethodHead) && status == http.StatusOK {
		tag := `"` + strconv.FormatUint(xxhash.Sum64(counts), 36) + `"`
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "no-cache")
		if matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that hung up does not need it
}

// matches compares an If-None-Match header, weakly as it is for GET.
func matches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}

// splice adds a field to a JSON object without decoding it.
func splice(object json.RawMessage, name string, value any) (json.RawMessage, error) {
	v, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	object = bytes.TrimSpace(object)
	if len(object) < 2 || object[len(object)-1] != '}' {
		return nil, fmt.Errorf("add %s: %.40q is no object", name, object)
	}
	out := make([]byte, 0, len(object)+len(name)+len(v)+4)
	out = append(out, object[:len(object)-1]...)
	if len(bytes.TrimSpace(object[1:len(object)-1])) > 0 {
		out = append(out, ',')
	}
	out = strconv.AppendQuote(out, name)
	return append(append(append(out, ':'), v...), '}'), nil
}
