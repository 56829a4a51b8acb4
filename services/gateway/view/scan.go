package view

import (
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/scan"
)

// scanRow reads a status that is written as the planner writes it. It is what
// unmarshalRow is, for a tenth of the time; false: not written so.
func scanRow(status []byte) (row, bool) {
	s := scan.Of(status)
	t := events.ScanStatus(&s)
	var at time.Time
	if !s.Done() || at.UnmarshalText(t.Created) != nil {
		return row{}, false
	}
	return row{
		known: true, position: positionOf(string(t.Position)), created: at.UnixMilli(), status: t.Status,
		name: t.Name, version: t.Version, digest: t.Digest,
	}, true
}
