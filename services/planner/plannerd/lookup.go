package plannerd

import (
	"context"
	"log/slog"
	"time"

	"github.com/heddle-run/heddle/internal/definitions"
)

// lookup finds definitions for the machine of one partition. One that the book
// does not have may have been written a moment before the start that names it,
// so the book is read to its end as of now before it is called unknown.
//
// That holds up the partition, so there is only so much of it: most at once,
// and in the long run a tenth of the time. Beyond that, as when a client names
// unknown definitions without end, the book counts as it is. Like the machine it
// belongs to one goroutine.
type lookup struct {
	book   *definitions.Book
	logger *slog.Logger
	most   time.Duration // that may be waited at once

	left  time.Duration // that may be waited, as of since
	since time.Time
}

const (
	mostShare  = 8  // of the lease's margin: the loop's clock must not get older than that
	workShare  = 10 // a partition that waits works for so many times longer, in the long run
	leastShare = 10 // of the most: for less there is no use in asking
)

func (s *Planner) lookup() *lookup {
	return &lookup{book: s.book, logger: s.cfg.Logger, most: s.cfg.Partition.Complete().Margin / mostShare}
}

// canonical finds what a name, name@version or digest means.
func (l *lookup) canonical(ref string) ([]byte, bool) {
	if c, ok := l.book.Canonical(ref); ok {
		return c, true
	}
	l.catchUp(ref)
	return l.book.Canonical(ref)
}

// catchUp reads the book to its end, within what may be waited.
func (l *lookup) catchUp(ref string) {
	began := time.Now()
	left := min(l.most, l.left+began.Sub(l.since)/workShare)
	if left < l.most/leastShare {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), left)
	err := l.book.Sync(ctx)
	stop()
	l.since = time.Now()
	l.left = left - l.since.Sub(began)
	if err != nil {
		l.logger.Warn("the definitions could not be read to their end in time", "wanted", ref, "error", err)
	}
}
