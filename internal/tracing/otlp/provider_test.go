package otlp

import (
	"strings"
	"testing"
)

func TestWhoExportsIsSaidByTheEnvironment(t *testing.T) {
	const here, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, c := range []struct {
		env    map[string]string
		wanted bool
		wrong  string // part of the error
	}{
		{nil, false, ""},
		{map[string]string{here: "http://collector:4318"}, true, ""},
		{map[string]string{traces: "https://collector/v1/traces"}, true, ""},
		{map[string]string{here: "http://collector:4318", "OTEL_SDK_DISABLED": "TRUE"}, false, ""},
		{map[string]string{here: "http://collector:4318", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, "OTEL_TRACES_EXPORTER"},
		{map[string]string{here: "http://collector:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{map[string]string{here: "localhost:4318"}, false, here + ` is "localhost:4318": want a URL`},
		{map[string]string{here: "http://collector:4318", traces: "collector"}, false, traces},
		{map[string]string{traces: "http://"}, false, traces},
		{map[string]string{traces: "http://a b"}, false, traces},
	} {
		got, err := wanted(func(name string) string { return c.env[name] })
		if got != c.wanted || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v: %t, %v; want %t, %q", c.env, got, err, c.wanted, c.wrong)
		}
	}
}
