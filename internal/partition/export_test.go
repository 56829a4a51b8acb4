package partition

import "context"

// Recover brings the store of a partition up to the end of its journal, as an
// owner does before it claims the partition, and closes it.
func (h *Host) Recover(ctx context.Context, p int32) error {
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	o := &Owner{host: h, p: p, logger: h.logger, lost: lost}
	o.set(Recovering, 0, "")
	r, err := o.recover(ctx, ctx, func(error) {})
	if err == nil {
		r.close()
	}
	return err
}
