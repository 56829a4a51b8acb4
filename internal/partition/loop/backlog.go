package loop

import (
	"github.com/heddle-run/heddle/internal/backlog"
	"github.com/heddle-run/heddle/shared/snapshot"
)

// Backlog counts the open attempts that the partition watches.
func (p *Processor) Backlog() snapshot.Backlog {
	var tally backlog.Tally
	for _, at := range p.watch.open { // order: counted
		tally.Add(at.row.Since, at.row.Notified)
	}
	return tally.Published()
}
