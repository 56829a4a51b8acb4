package partition

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/runtime"
)

// tell publishes why nobody serves the partition, if an operator has to act. The
// first checkpoint of the next owner takes it back.
func (r *tenure) tell(ctx context.Context, err error) {
	blocked := r.o.blockedBy(err)
	if blocked == nil || ctx.Err() != nil {
		return
	}
	if err := r.publishBlocked(ctx, blocked.Error()); err != nil {
		r.o.logger.Warn("why the partition is blocked is not published", "reason", blocked, "error", err)
	}
}

// publishBlocked writes the partition's last record again, with the reason. It does so
// behind the fence: the lease in it is the last one, and stays as it was. A record
// that cannot be read is left alone: how long its lease lasts is not known.
func (r *tenure) publishBlocked(ctx context.Context, reason string) error {
	last, err := r.lastPublished(ctx)
	if err != nil {
		return err
	}
	rec := runtime.Record{SchemaVersion: runtime.SchemaVersion, Epochs: []runtime.Epoch{}, Notes: []string{}}
	if last != nil {
		if err := json.Unmarshal(last.Value, &rec); err != nil {
			return fmt.Errorf("reading the partition's last record: %w", err)
		}
	}
	if rec.Blocked != nil && *rec.Blocked == reason {
		return nil
	}
	rec.Blocked = &reason
	value, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return r.txn.Run(ctx, []*kgo.Record{kafka.Placed(r.host.names.Authority(), r.o.p, authorityKey(r.o.p), value)}, nil)
}

// lastPublished is the partition's last record in authority; nil if there is none.
func (r *tenure) lastPublished(ctx context.Context) (*kgo.Record, error) {
	return r.read.last(ctx, r.host.names.Authority(), r.o.p, authorityKey(r.o.p))
}

// authorityKey is the key of a partition's records in authority.
func authorityKey(p int32) []byte { return strconv.AppendInt(nil, int64(p), 10) }
