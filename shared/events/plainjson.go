package events

import (
	"bytes"
	"encoding/json"
)

// MarshalPlain is json.Marshal without its escapes for HTML, which write <, > and & with six bytes each: values of users stay as they
// are, and as long as they are.
func MarshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
