package river

import (
	"encoding/json"
	"testing"

	"github.com/riverqueue/river/rivertype"
)

// Whatever a job's metadata are, they name a work only by the field that is ours; and whatever its arguments were made
// of, they are JSON.
func FuzzJob(f *testing.F) {
	f.Add([]byte(`{"heddle_key":"00feed","output":7}`), "k", []byte(`{"n":1}`))
	f.Add([]byte(`{"heddle_key":7}`), "", []byte(`null`))
	f.Add([]byte(`[`), "k", []byte(``))
	f.Fuzz(func(t *testing.T, metadata []byte, key string, input []byte) {
		job := &rivertype.JobRow{Metadata: metadata}
		if got := keyOf(job); got != "" {
			var fields map[string]any
			if err := json.Unmarshal(metadata, &fields); err != nil {
				t.Errorf("%q names %q: %v", metadata, got, err)
			}
		}
		job.State = rivertype.JobStateCompleted
		if s := stateOf(job); s.Check() != nil || len(s.Result) > 0 && !json.Valid(s.Result) {
			t.Errorf("%q has the result %q", metadata, s.Result)
		}
		if !json.Valid(input) {
			return
		}
		encoded, err := json.Marshal(args{"kind", key, "w", input})
		if err != nil || !json.Valid(encoded) {
			t.Errorf("the arguments are %q: %v", encoded, err)
		}
	})
}
