package partition

import (
	"github.com/heddle-run/heddle/internal/backlog"
	"github.com/heddle-run/heddle/shared/snapshot"
)

// backlog counts the open attempts that the partition watches.
func (p *Processor) backlog() snapshot.Backlog {
	var tally backlog.Tally
	for _, at := range p.watch.open {
		tally.Add(at.row.Since, at.row.Notified)
	}
	return tally.Published()
}
