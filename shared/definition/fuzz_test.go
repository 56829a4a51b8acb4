package definition_test

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

func FuzzParseOptions(f *testing.F) {
	for _, s := range []string{`{}`, `{"max_concurrency":3,"checkpoint":{"every_n":2},"close":"on_idle","drain":"5s","on_failure":"skip","labels":{"a":{"$":"input.a"},"b":1}}`, `{"drain_ms":-1}`, `{"retain":{"idle":"forever","failed":"90d"}}`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var o definition.Options
		var err error
		wiretest.Bounded(t, len(raw), 4<<10, 4<<20, func() { o, err = definition.ParseOptions(json.RawMessage(raw), "options") })
		if err == nil && (o.MaxConcurrency < 0 || o.Drain != nil && *o.Drain < 0) {
			t.Errorf("%q are the options %+v", raw, o)
		}
	})
}

// An input that a schema takes is JSON, and is taken again as it is.
func FuzzAcceptInput(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"n":{"type":"integer","default":3}}}`), []byte(`{}`))
	f.Add([]byte(`{"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}},"b":{"const":1}},"$ref":"#/$defs/a"}`), []byte(`[1,1]`))
	f.Add([]byte(`{"uniqueItems":true,"pattern":"^a"}`), []byte(`"abc"`))
	f.Add([]byte(`true`), []byte(`1e999`))
	f.Fuzz(func(t *testing.T, schema, input []byte) {
		if !json.Valid(schema) {
			return
		}
		d, err := definition.Parse([]byte(`{"name":"t","components":{},"input":{"schema":` + string(schema) + `}}`))
		if err != nil {
			return
		}
		g, err := definition.Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		var got json.RawMessage
		wiretest.Bounded(t, len(schema)+len(input), 4<<10, 64<<20, func() { got, err = g.AcceptInput(input) })
		if err != nil {
			return
		}
		if again, err := g.AcceptInput(got); err != nil || !json.Valid(got) || string(again) != string(got) {
			t.Errorf("%s takes %s as %s, then as %s, %v", schema, input, got, again, err)
		}
	})
}
