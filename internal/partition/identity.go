package partition

import (
	"bytes"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/internal/partition/feed"
)

// reidentify asks again, behind the wait for a lease: inputs may have been made anew
// meanwhile, and the takeover names them. What was loaded is of no use if the journal
// was.
func (r *tenure) reidentify(ctx context.Context) error {
	now, err := r.host.identify(ctx)
	if err != nil {
		return err
	}
	if now.Cluster != r.id.Cluster || !bytes.Equal(now.Journal, r.id.Journal) {
		return fmt.Errorf("topic %s: %w", r.host.names.Journal(), feed.ErrRemade)
	}
	r.id = now
	return nil
}

// identify asks for the ids.
func (h *Host) identify(ctx context.Context) (feed.Identity, error) {
	meta, err := h.adm.Metadata(ctx, h.names.Journal(), h.names.Commands(), h.names.Inbox())
	if err != nil {
		return feed.Identity{}, fmt.Errorf("asking for the ids of cluster and topics: %w", err)
	}
	return h.identityOf(meta)
}

// identityOf reads the ids from an answer about all of their topics.
func (h *Host) identityOf(meta kadm.Metadata) (feed.Identity, error) {
	id := feed.Identity{Cluster: meta.Cluster}
	for name, into := range map[string]*[]byte{
		h.names.Journal(): &id.Journal, h.names.Commands(): &id.Commands, h.names.Inbox(): &id.Inbox,
	} {
		t, ok := meta.Topics[name]
		if !ok || t.Err != nil {
			return feed.Identity{}, fmt.Errorf("asking for the id of topic %s: %w", name, t.Err)
		}
		*into = append([]byte(nil), t.ID[:]...)
	}
	return id, nil
}
