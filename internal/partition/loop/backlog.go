package loop

import (
	"github.com/heddle-run/heddle/internal/runtime"
)

// Backlog counts the open attempts that the partition watches.
func (p *Processor) Backlog() runtime.Backlog {
	var tally runtime.Tally
	for _, at := range p.watch.open { // order: counted
		tally.Add(at.row.Since, at.row.Notified)
	}
	return tally.Published()
}
