package machine

import (
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Listed is the row by which a list finds an entity, which has it as long as it has any. Its key says everything. All kinds of
// entities have the same, as a scan sees those of other kinds.
type Listed struct{}

// Fields implements wire.Message.
func (*Listed) Fields(*wire.Codec) {}

// EntityKey is the key of that row.
func EntityKey(id string) rows.Key { return rows.Key{Table: rows.Entity, Workflow: id} }

// EachEntity visits the listed entities whose ids have a prefix, in the order of their ids from one on, until visit returns
// false.
func EachEntity(tx *rows.Tx, prefix, from string, visit func(id string) bool) {
	rows.Scan(tx, EntityKey(max(prefix, from)), func(k rows.Key, _ *Listed) bool {
		return strings.HasPrefix(k.Workflow, prefix) && visit(k.Workflow)
	})
}

// ListEntities shows at most so many of the listed entities whose ids have a prefix: those behind the cursor, the id of one.
func ListEntities[T any](tx *rows.Tx, prefix, cursor string, most int, show func(id string) T) events.EntityList[T] {
	v := events.EntityList[T]{Items: []T{}}
	last := ""
	EachEntity(tx, prefix, cursor, func(id string) bool {
		switch {
		case id == cursor:
			return true
		case len(v.Items) == most:
			v.Next = last
			return false
		}
		v.Items = append(v.Items, show(id))
		last = id
		return true
	})
	return v
}
