package definition_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

// A parameter that a built-in task does not have would be ignored.
func TestUnknownParamsOfBuiltInTasksAreRefused(t *testing.T) {
	for src, want := range map[string]string{
		`{"name":"d","components":{"a":{"step":"test.fail","params":{"times":2}}}}`:              `components.a.params.times: test.fail has no parameter "times", only n, then`,
		`{"name":"d","components":{"a":{"step":"http.request","params":{"url":"x","metod":1}}}}`: `components.a.params.metod: http.request has no parameter "metod"; nearest: method`,
		`{"name":"d","components":{"a":{"step":"http.request","params":{"url":{"$":"input"}}}}}`: "",
		`{"name":"d","components":{"a":{"step":"test.echo","params":{"any":1}}}}`:                "",
		`{"name":"d","components":{"a":{"step":"shop.price","params":{"any":1}}}}`:               "",
	} {
		d, err := definition.Parse([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := d.CheckParams(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
