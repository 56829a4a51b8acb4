package kafka_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/wire"
)

// A record says its format in one form, and none is the first one.
func TestALaterFormatIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		headers []kgo.RecordHeader
		has     uint64 // of a *wire.FormatError; 0: no such error
		bad     bool   // any error
	}{
		"no header":         {nil, 0, false},
		"the first":         {kafka.InboxFormat, 0, false},
		"the highest known": {[]kgo.RecordHeader{kafka.Header("v", []byte("3"))}, 0, false},
		"a later one":       {[]kgo.RecordHeader{kafka.Header("x", nil), kafka.Header("v", []byte("4"))}, 4, true},
		"far later":         {[]kgo.RecordHeader{kafka.Header("v", []byte("18446744073709551615"))}, 1<<64 - 1, true},
		"zero":              {[]kgo.RecordHeader{kafka.Header("v", []byte("0"))}, 0, true},
		"another form":      {[]kgo.RecordHeader{kafka.Header("v", []byte("04"))}, 0, true},
		"no number":         {[]kgo.RecordHeader{kafka.Header("v", []byte("next"))}, 0, true},
		"empty":             {[]kgo.RecordHeader{kafka.Header("v", nil)}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := kafka.CheckFormat(&kgo.Record{Topic: "inbox", Partition: 3, Offset: 17, Headers: c.headers}, 3)
			var later *wire.FormatError
			if errors.As(err, &later) != (c.has > 0) || (err != nil) != c.bad {
				t.Fatalf("got %v", err)
			}
			if c.has > 0 && (later.Has != c.has || later.Knows != 3 || later.What != "the record at inbox/3@17") {
				t.Errorf("got %+v", later)
			}
		})
	}
}
