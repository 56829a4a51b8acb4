package partition

import (
	"bytes"
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/heddle-run/heddle/shared/events"
)

// identity is which cluster and topics a tenure is about: stores and positions
// are worth nothing on others of the same names. It is never changed.
type identity struct {
	cluster                  string
	journal, commands, inbox []byte // topic ids
}

// of is the id of an input log's topic.
func (i identity) of(s events.Source) []byte {
	if s == events.FromInbox {
		return i.inbox
	}
	return i.commands
}

// same reports whether an input log is of the same topic.
func (i identity) same(as identity, s events.Source) bool { return bytes.Equal(i.of(s), as.of(s)) }

// reidentify asks again, behind the wait for a lease: inputs may have been made anew
// meanwhile, and the takeover names them. What was loaded is of no use if the journal
// was.
func (r *tenure) reidentify(ctx context.Context) error {
	now, err := r.host.identify(ctx)
	if err != nil {
		return err
	}
	if now.cluster != r.id.cluster || !bytes.Equal(now.journal, r.id.journal) {
		return fmt.Errorf("topic %s: %w", r.host.names.Journal(), errRemade)
	}
	r.id = now
	return nil
}

// identify asks for the ids.
func (h *Host) identify(ctx context.Context) (identity, error) {
	meta, err := h.adm.Metadata(ctx, h.names.Journal(), h.names.Commands(), h.names.Inbox())
	if err != nil {
		return identity{}, fmt.Errorf("asking for the ids of cluster and topics: %w", err)
	}
	return h.identityOf(meta)
}

// identityOf reads the ids from an answer about all of their topics.
func (h *Host) identityOf(meta kadm.Metadata) (identity, error) {
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
