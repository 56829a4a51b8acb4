package partition

import (
	"context"
	"fmt"
)

// identity is which cluster and topics a reign is about: stores and positions
// are worth nothing on others of the same names. It is never changed.
type identity struct {
	cluster                  string
	journal, commands, inbox []byte // topic ids
}

// identify asks for the ids.
func (h *Host) identify(ctx context.Context) (identity, error) {
	meta, err := h.adm.Metadata(ctx, h.names.Journal(), h.names.Commands(), h.names.Inbox())
	if err != nil {
		return identity{}, fmt.Errorf("asking for the ids of cluster and topics: %w", err)
	}
	id := identity{cluster: meta.Cluster}
	for name, into := range map[string]*[]byte{
		h.names.Journal(): &id.journal, h.names.Commands(): &id.commands, h.names.Inbox(): &id.inbox,
	} {
		t, ok := meta.Topics[name]
		if !ok || t.Err != nil {
			return identity{}, fmt.Errorf("asking for the id of topic %s: %w", name, t.Err)
		}
		*into = append([]byte(nil), t.ID[:]...)
	}
	return id, nil
}
