package readinessd

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/heddle-run/heddle/services/readiness"
)

// Whatever stands on the authority topic, what is derived of it is JSON, and a
// record that cannot be read is no lease.
func FuzzStatusTable(f *testing.F) {
	f.Add([]byte("0"), []byte(`{"schema_version":1,"authority":{"owner":"o","epoch":1,"leased_until":"2026-01-02T03:04:05Z"}}`))
	f.Add([]byte("1"), []byte(`{"schema_version":1,"durability":{"replicated":null}}`))
	f.Add([]byte("-1"), []byte(`{}`))
	f.Add([]byte("0"), []byte(`{"schema_version":99}`))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		b := newStatusTable(2, readiness.Limits{})
		_ = b.take(key, value) // an error is a record that is passed over
		changes, err := b.derive(time.UnixMilli(1_767_323_045_000))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if !json.Valid(c.value) {
				t.Errorf("%s is %q", c.key, c.value)
			}
		}
		if json.Unmarshal(value, new(map[string]any)) != nil && b.published[0].Record != nil {
			t.Errorf("%q is a lease", value)
		}
	})
}
