package gateway

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What stands on the authority topic names a whole owner or none.
func FuzzOwner(f *testing.F) {
	f.Add([]byte("3"), []byte(`{"schema_version":1,"authority":{"owner":"o","epoch":1,"leased_until":"2026-01-02T03:04:05Z"}}`))
	f.Add([]byte("3"), []byte(`{"":1,"":{"":"","":1,"":"6-01-02T03:04:05Z"}}`))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		w := &follower{authority: "authority", owners: map[int32]owner{}, logger: slog.New(slog.DiscardHandler)}
		w.take(&kgo.Record{Topic: "authority", Key: key, Value: value})
		if len(w.owners) > 1 || len(w.owners) == 1 && !json.Valid(value) {
			t.Errorf("%q of %q is the owner %+v", value, key, w.owners)
		}
	})
}
