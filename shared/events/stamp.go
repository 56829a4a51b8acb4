package events

import "time"

// Stamp is a time in Unix ms. Answers show it in RFC 3339, in UTC.
type Stamp int64

// stampForm is RFC 3339 with milliseconds.
const stampForm = "2006-01-02T15:04:05.000Z07:00"

func (s Stamp) String() string { return time.UnixMilli(int64(s)).UTC().Format(stampForm) }

func (s Stamp) appendTo(b []byte) []byte {
	return time.UnixMilli(int64(s)).UTC().AppendFormat(b, stampForm)
}

// MarshalText implements encoding.TextMarshaler.
func (s Stamp) MarshalText() ([]byte, error) { return s.appendTo(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Stamp) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.RFC3339, string(b))
	if err == nil {
		*s = Stamp(t.UnixMilli())
	}
	return err
}
