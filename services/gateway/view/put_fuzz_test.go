package view

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/search"
)

// Whatever stands on the status topic, the list has each workflow that is left
// once, as JSON, page after page; and nothing stays of what is removed.
func FuzzView(f *testing.F) {
	v := openTestView(f, "")
	f.Cleanup(func() { closeTestView(f, v) })
	status, err := json.Marshal(testStatus("a"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("a"), status, []byte("b"), status)
	f.Add([]byte("a"), status, []byte(""), []byte(`{"status":"a\u0000b","created_at":"0001-01-01T00:00:00Z","definition":{"name":"n\u0000"},"labels":[1]}`))
	f.Add([]byte("a\x00"), []byte(`{"created_at":"9999-12-31T23:59:59Z","position":"1.1"}`), []byte("a"), []byte(`null`))
	f.Add([]byte("\xff"), []byte(` { "created_at" : "2026-01-02T03:04:05.999999999-23:59" } `), []byte("\xff"), []byte(`{"position":"9.9","created_at":"2026-01-02T03:04:05Z"}`))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 []byte) {
		offset := v.next[0]
		record := func(key, value []byte) *kgo.Record {
			offset++
			return &kgo.Record{Key: key, Value: value, Offset: offset}
		}
		takeAll(t, v, []*kgo.Record{record(k1, v1), record(k2, v2), record(k1, v2)})
		rows := 0
		for key, stored := range storedKeys(t, v) {
			if key[:len(rowPrefix)] != rowPrefix {
				continue
			}
			rows++
			r, _, err := storedRow(stored)
			if err != nil {
				t.Fatal(err)
			}
			filters := []search.Filter{{Status: string(r.status)}}
			if name, _, _ := search.SplitDefinition(string(r.name)); name == string(r.name) {
				filters = append(filters, search.Filter{Definition: name})
			}
			for _, filter := range filters {
				if n := listed(t, v, filter); n == 0 {
					t.Errorf("%q is not among those of %+v", key, filter)
				}
			}
		}
		if n := listed(t, v, search.Filter{}); n != rows {
			t.Errorf("%d are listed, %d are stored", n, rows)
		}
		if from, err := search.ParseCursor(string(v2)); err == nil {
			if _, err := v.List(search.Filter{}, from, 1); err != nil {
				t.Errorf("a list from %q on: %v", v2, err)
			}
		}
		takeAll(t, v, []*kgo.Record{record(k1, nil), record(k2, nil)})
		if left := storedKeys(t, v); len(left) > 0 {
			t.Errorf("when all are removed there is %q", left)
		}
	})
}

// listed counts the workflows on all pages of a list, each of which has one.
func listed(t *testing.T, v *View, f search.Filter) (n int) {
	t.Helper()
	var from []byte
	for range 10 {
		page, err := v.List(f, from, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if n++; !json.Valid(item) {
				t.Errorf("the list has %q", item)
			}
		}
		if page.Next == "" {
			return n
		}
		if from, err = search.ParseCursor(page.Next); err != nil {
			b, _ := base64.RawURLEncoding.DecodeString(page.Next)
			t.Fatalf("the cursor %q: %v", b, err)
		}
	}
	t.Fatalf("a list of %+v has no end", f)
	return n
}
