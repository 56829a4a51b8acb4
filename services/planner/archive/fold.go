package archive

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Folder folds runs of a partition. What it has compiled for one is at hand for the others. With all of its folds it belongs to one
// goroutine.
type Folder struct {
	partition int32
	planner   *planner.Planner // nil: the next use makes it
}

// NewFolder makes the Folder of a partition.
func NewFolder(partition int32) *Folder { return &Folder{partition: partition} }

// use has a planner do something. One that met what it cannot do is not used again, as it may be in the middle of that.
func (d *Folder) use(do func(*planner.Planner)) (met any) {
	defer func() {
		if met = recover(); met != nil {
			d.planner = nil
		}
	}()
	if d.planner == nil {
		d.planner = planner.New(planner.Config{Key: key, Partition: d.partition, Definitions: func(string) ([]byte, bool) { return nil, false }})
	}
	do(d.planner)
	return nil
}

// Folded is what the entries of a run come to: the rows that a planner had of it. It answers what a planner does.
type Folded struct {
	Last events.Position // of the last entry
	Time int64           // Unix ms, likewise

	folder      *Folder
	state       state
	workflow    string
	run         events.RunID
	tx          *rows.Tx
	definitions []events.DefinitionPinned
}

// UnknownDefinitionError says that a run needs a definition that nobody has.
type UnknownDefinitionError struct{ Digest string }

func (e *UnknownDefinitionError) Error() string {
	return fmt.Sprintf("the definition %s of the run is neither in the archive nor registered", e.Digest)
}

// key seals tokens that nobody is given.
var key = events.Key("an archive gives no tokens out")

// Begin begins to fold the entries of a run of a workflow.
func (d *Folder) Begin(workflow string) *Folded {
	f := &Folded{folder: d, workflow: workflow}
	f.tx = rows.Begin(&f.state)
	return f
}

// Needs are the digests of the definitions that an entry needs to be folded.
func Needs(rec *events.Record) (digests []string) {
	for _, e := range rec.Events {
		switch e := e.(type) {
		case *events.WorkflowStarted:
			digests = append(digests, e.Digest)
		case *events.WorkflowMigrated:
			digests = append(digests, e.To)
		}
	}
	return digests
}

// Add folds the next entry. canonical has the definitions that it needs. An entry that does not follow those before it, as
// where a log lacks its beginning, is an error.
func (f *Folded) Add(rec *events.Record, canonical func(digest string) ([]byte, bool)) error {
	f.Last, f.Time = rec.Position, rec.Time
	if !events.OfMachine(rec) {
		return f.aside(rec)
	}
	with := *rec
	with.Events = nil
	for _, digest := range Needs(rec) {
		c, ok := canonical(digest)
		if !ok {
			return &UnknownDefinitionError{digest}
		}
		pinned := events.DefinitionPinned{Digest: digest, Canonical: c}
		with.Events = append(with.Events, &pinned)
		f.definitions = append(f.definitions, pinned)
	}
	f.began(rec)
	with.Events = append(with.Events, rec.Events...)
	met := f.folder.use(func(p *planner.Planner) {
		defer f.tx.Reset()
		p.Apply(f.tx, &with, true)
		f.state.Commit(f.tx.Writes())
	})
	if met != nil {
		return fmt.Errorf("record %s does not follow the entries before it: %v", rec.Position, met)
	}
	return nil
}

// aside takes a record that the machine does not see. It changes no row, but for the timer that a defect was met at: that does
// not fire again.
func (f *Folded) aside(rec *events.Record) error {
	for _, e := range rec.Events {
		q, ok := e.(*events.WorkflowQuarantined)
		if !ok || len(q.Timer) == 0 {
			continue
		}
		k, err := rows.ParseKey(q.Timer)
		if err != nil {
			return fmt.Errorf("record %s: %w", rec.Position, err)
		}
		f.state.Commit([]rows.Write{{Key: k}})
	}
	return nil
}

// began learns of how a run has begun.
func (f *Folded) began(rec *events.Record) {
	for _, e := range rec.Events {
		switch e := e.(type) {
		case *events.WorkflowStarted:
			f.run = rec.Position
		case *events.WorkflowRestored:
			f.run = rec.Position
			f.definitions = append(f.definitions, e.Definitions...)
		}
	}
}

// Restore is what another deployment's planner needs to go on with the run. The fold cannot be added to afterwards.
func (f *Folded) Restore() (m *events.RunRestore, err error) {
	m = &events.RunRestore{Run: f.run}
	met := f.folder.use(func(p *planner.Planner) { m.Resume, err = p.Rest(&f.state, f.workflow, f.Last, f.Time) })
	switch {
	case met != nil:
		return nil, fmt.Errorf("bringing %s to rest: %v", f.workflow, met)
	case err != nil:
		return nil, fmt.Errorf("bringing %s to rest: %w", f.workflow, err)
	}
	for k, row := range f.state.all {
		if k.Owner() == f.workflow {
			m.Rows = append(m.Rows, events.RestoredRow{Key: k.Append(nil), Value: wire.Marshal(row)})
		}
	}
	for i, d := range f.definitions {
		known := func(o events.DefinitionPinned) bool { return o.Digest == d.Digest }
		if !slices.ContainsFunc(f.definitions[:i], known) {
			m.Definitions = append(m.Definitions, d)
		}
	}
	return m, nil
}

// Query answers a query about the run as a planner would have at its last entry.
func (f *Folded) Query(q events.Query) (body json.RawMessage, refusal *events.Refusal, err error) {
	q.Workflow = f.workflow
	var r events.Reply
	if met := f.folder.use(func(p *planner.Planner) { r = p.Query(rows.Begin(&f.state), f.Time, &q) }); met != nil {
		return nil, nil, fmt.Errorf("answering from the entries of %s: %v", f.workflow, met)
	}
	return r.Body, r.Refusal, nil
}

// Outcome is the run's summary as of its last entry, with its results.
func (f *Folded) Outcome() (sum events.Summary, results json.RawMessage, err error) {
	there := false
	met := f.folder.use(func(p *planner.Planner) {
		var all map[string]json.RawMessage
		if sum, all, there = p.Outcome(rows.Begin(&f.state), f.Time, f.workflow); there {
			results, err = json.Marshal(all)
		}
	})
	switch {
	case met != nil:
		return sum, nil, fmt.Errorf("answering from the entries of %s: %v", f.workflow, met)
	case err != nil:
		return sum, nil, fmt.Errorf("the results of %s: %w", f.workflow, err)
	case !there:
		return sum, nil, fmt.Errorf("the entries of %s come to no run", f.workflow)
	}
	return sum, results, nil
}

// Components are the names of the components that a run begins with, by their numbers; none where its definition is not known.
func Components(first *events.Record, canonical func(digest string) ([]byte, bool)) (names []string) {
	var c []byte
	ok := false
	for _, e := range first.Events {
		switch e := e.(type) {
		case *events.WorkflowStarted:
			c, ok = canonical(e.Digest)
		case *events.WorkflowRestored:
			if ok = len(e.Definitions) == 1; ok { // else its numbers are of several
				c = e.Definitions[0].Canonical
			}
		}
	}
	if !ok {
		return nil
	}
	d, err := definition.Parse(c)
	if err != nil {
		return nil
	}
	g, err := definition.Compile(d)
	if err != nil {
		return nil
	}
	for _, c := range g.Components {
		names = append(names, c.Name)
	}
	return names
}
