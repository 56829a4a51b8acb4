package main

import (
	"reflect"
	"testing"
)

// A value of digits is the text that stands there, where a number would be another one.
func TestSettingsOfDigitsStayAsTheyAreWritten(t *testing.T) {
	values, err := settingsIn([]byte("api_key: 0123\nkey: 123456789012345678901234567890\nother: 0x1F\nday: 2026-01-02\n" +
		"partitions: 12\nmemory: true\nnothing:\nquoted: \"7\"\nlist: [012, 1e3, -5]\nanchored: &a {rate: .5}\nagain: *a\n"))
	if err != nil {
		t.Fatal(err)
	}
	rate := map[string]any{"rate": ".5"}
	want := map[string]any{
		"api_key": "0123", "key": "123456789012345678901234567890", "other": "0x1F", "day": "2026-01-02",
		"partitions": 12, "memory": true, "nothing": nil, "quoted": "7", "list": []any{"012", "1e3", -5}, "anchored": rate, "again": rate,
	}
	if !reflect.DeepEqual(values, want) {
		t.Errorf("got\n%#v\nwant\n%#v", values, want)
	}
	if _, err = settingsIn([]byte("a: 1\n---\nb: 2\n")); err == nil {
		t.Error("of two documents one is ignored")
	}
	for _, empty := range []string{"", "# nothing is set\n", "\n---\n"} {
		if values, err = settingsIn([]byte(empty)); err != nil || len(values) > 0 {
			t.Errorf("%q has %v, %v", empty, values, err)
		}
	}
}
