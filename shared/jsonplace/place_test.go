package jsonplace_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/jsonplace"
)

func TestBytesThatAreNoUTF8HaveAPlace(t *testing.T) {
	for text, want := range map[string]struct {
		at   int
		path string
	}{
		`{"a":"é"}`:                          {-1, ""},
		"\"\xff\"":                           {1, ""},
		"{\"a\":\"\xff\"}":                   {6, "a"},
		"{\"a\":1,\"b\":\"x\xc3\"}":          {13, "b"},
		"{\"a\":{\"b\":[1,\"é\",\"\xff\"]}}": {19, "a.b[2]"},
		"{\"a\":[{},{\"x\\\"y\":\"\xff\"}]}": {18, `a[1].x\"y`},
		"{\"a\":1,\"\xff\":2}":               {8, ""},
		"\xff":                               {0, ""},
		"]}\xff":                             {2, ""},
		"{\"a\\\xff":                         {4, ""},
	} {
		if at, path := jsonplace.NotUTF8([]byte(text)); at != want.at || path != want.path {
			t.Errorf("%q: at %d in %q, want %d in %q", text, at, path, want.at, want.path)
		}
	}
}
