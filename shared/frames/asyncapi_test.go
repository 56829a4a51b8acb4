package frames_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// document is docs/runner-protocol.yaml.
func document(t *testing.T) map[string]any {
	t.Helper()
	b, err := os.ReadFile("../../docs/runner-protocol.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// published is the schema of a message in the document.
func published(t *testing.T, doc map[string]any, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("runner.yaml", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("runner.yaml#/components/schemas/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(t testing.TB, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// Whatever frame there is, the document allows it, and what it does not allow is no frame.
func TestTheDocumentDescribesEachFrame(t *testing.T) {
	doc := document(t)
	for i, name := range []string{"FrameToServer", "FrameToClient"} {
		s := published(t, doc, name)
		rapid.Check(t, func(rt *rapid.T) {
			text := wire.ToJSON(both(rt)[i])
			if err := s.Validate(value(t, text)); err != nil {
				rt.Fatalf("%s: %v", text, err)
			}
		})
	}
	s := published(t, doc, "FrameToServer")
	for _, text := range []string{
		`{"type":"ToServerPong"}`, `{"ts":1}`, `{"type":"ToServerPing","ts":"1"}`, `{"type":"ToServerPing","ts":1,"time":2}`, `{"type":"ToClientPong","ts":1}`,
		`{"type":"ToServerEvents","events":[{"index":1,"inner":{"type":"StartTask"}}]}`, `{"type":"ToServerTunnel","requestId":"r","messageIdx":65536,"inner":{"type":"RequestEnd"}}`,
		`{"type":"ToServerInit","name":"a","version":-1,"totalSlots":1,"lastCommandIdx":null}`,
	} {
		if s.Validate(value(t, []byte(text))) == nil {
			t.Errorf("the document allows %s", text)
		}
		if m, err := frames.DecodeToServer(frames.JSON, []byte(text)); err == nil {
			t.Errorf("%s is read as %+v", text, m)
		}
	}
}

// Each reference of the document leads somewhere in it.
func TestReferencesOfTheDocumentLeadSomewhere(t *testing.T) {
	doc := document(t)
	count := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for key, one := range v {
				ref, ok := one.(string)
				if key != "$ref" || !ok {
					walk(one)
					continue
				}
				count++
				var at any = doc
				for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[step]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
		}
	}
	if walk(doc); count < 40 {
		t.Errorf("only %d references", count)
	}
}
