package archiver

import (
	"encoding/json"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/services/planner/archive"
	"github.com/heddle-run/heddle/shared/events"
)

// placed says in the store that the journal is archived up to a place.
func (r *rig) placed(at archive.Place) {
	r.t.Helper()
	a := &Archiver{cfg: Config{Name: "other"}, store: r.store}
	var err error
	a.topic, err = topicID(r.ctx, r.Admin(r.t), r.Topics.Journal())
	r.must(err)
	other := &tenure{a: a}
	_, err = other.claim(r.ctx)
	r.must(err)
	data, err := json.Marshal(at)
	r.must(err)
	r.must(r.store.SaveSnapshot(r.ctx, archive.PlaceID(a.topic, 0), other.epoch, store.Snapshot{At: other.claims, Data: data}))
}

// A journal that is shorter than what of it was archived, as its brokers have lost records, is archived from its start on.
func TestAJournalThatIsShorterThanTheArchiveIsArchived(t *testing.T) {
	r := newRig(t)
	r.starts("a")
	r.placed(archive.Place{Offset: 100, After: events.Position{Epoch: 1, Seq: 101}})
	r.archiver(nil)
	r.ends("a")
	r.hears(1)
	r.is("a", "completed")
	r.comes("the right place is committed", func() bool { return r.committed() == int64(len(r.list)) })
}
