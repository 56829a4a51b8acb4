package partition

import (
	"context"
	"errors"

	"github.com/heddle-run/heddle/shared/wire"
)

// isLater reports whether a newer program has written what an owner met: no later try of
// this program reads it.
func isLater(err error) bool {
	var later *wire.FormatError
	return errors.As(err, &later)
}

// halt publishes why a tenure ends that has met what a newer program has written.
func (r *tenure) halt(ctx context.Context, err error) error {
	read, bad := newReader(r.host.Cluster, r.host.adm) // that of the recovery is closed
	if bad != nil {
		return errors.Join(err, bad)
	}
	r.read = read
	r.tell(ctx, err)
	return err
}
