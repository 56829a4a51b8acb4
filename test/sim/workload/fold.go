package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-run/heddle/internal/store"
	"github.com/heddle-run/heddle/services/planner"
	"github.com/heddle-run/heddle/services/planner/limits"
	"github.com/heddle-run/heddle/services/planner/notice"
	"github.com/heddle-run/heddle/services/planner/pool"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// Content is rows by encoded key.
type Content map[string][]byte

// WorkflowTables are the tables that the planner's machine keeps.
var WorkflowTables = append(slices.Clip(rows.Own), rows.Timer, rows.Entity, rows.Definition, rows.Pin)

// Tables are all tables that the journal decides: those of the machine, and
// those of the partition log.
var Tables = append(slices.Clip(WorkflowTables), rows.Position, rows.Ledger, rows.Expiry, rows.Received, rows.ReceivedAge, rows.Dispatch, rows.Outbox, rows.Runtime)

// Fold applies a journal from its beginning to nothing, with a planner that
// knows no definition. A record that cannot be applied is an error.
func Fold(key events.Key, p int32, records []*events.Record) (Content, error) {
	state, err := fold(key, p, records, func(machine.Machine, *rows.Tx, *events.Record, *machine.Outcome) {})
	if err != nil {
		return nil, err
	}
	all := Content{}
	for _, k := range state.Keys() {
		all[string(k.Append(nil))] = wire.Marshal(state.Get(k, nil))
	}
	return all, nil
}

// Answers are what records of a journal answer to the commands that they decide,
// by the state that is folded up to them; of those that are asked for.
func Answers(key events.Key, p int32, records []*events.Record, asked map[events.Position]bool) (map[events.Position]events.Reply, error) {
	all := map[events.Position]events.Reply{}
	var unread error
	_, err := fold(key, p, records, func(_ machine.Machine, _ *rows.Tx, rec *events.Record, out *machine.Outcome) {
		if asked[rec.Position] && events.OfMachine(rec) {
			var sent events.Reply
			unread = errors.Join(unread, json.Unmarshal(events.EncodeReply(&out.Answer), &sent))
			all[rec.Position] = sent
		}
	})
	return all, errors.Join(err, unread)
}

// States folds a journal and shows each record what queries are answered right
// behind it, as their callers get it.
func States(key events.Key, p int32, records []*events.Record, see func(i int, answer func(*events.Query) events.Reply)) error {
	i := 0
	var unread error
	_, err := fold(key, p, records, func(m machine.Machine, tx *rows.Tx, rec *events.Record, _ *machine.Outcome) {
		see(i, func(q *events.Query) events.Reply {
			r := m.Query(tx, rec.Time, q)
			var sent events.Reply
			unread = errors.Join(unread, json.Unmarshal(events.EncodeReply(&r), &sent))
			return sent
		})
		i++
	})
	return errors.Join(err, unread)
}

// Kinds hosts the entities of a partition beside its workflows.
func Kinds(key events.Key, workflows machine.Machine) machine.Machine {
	return KindsWith(key, workflows, pool.New(PoolTimes))
}

// KindsWith is Kinds with the machine of pools.
func KindsWith(key events.Key, workflows, pools machine.Machine) machine.Machine {
	return machine.Kinds{Workflows: workflows, Others: map[string]machine.Machine{notice.Kind: notice.New(key), limits.Kind: limits.Machine{}, pool.Kind: pools}}
}

// fold applies a journal to nothing; each sees every record with the state right
// after it.
func fold(key events.Key, p int32, records []*events.Record, each func(machine.Machine, *rows.Tx, *events.Record, *machine.Outcome)) (state *rows.Memory, err error) {
	m := Kinds(key, planner.New(planner.Config{
		Key: key, Partition: p, Definitions: func(string) ([]byte, bool) { return nil, false },
	}))
	state = &rows.Memory{}
	var at events.Position
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("record %s of partition %d cannot be applied: %v", at, p, v)
		}
	}()
	for _, rec := range records {
		at = rec.Position
		tx := rows.Begin(state)
		var out machine.Outcome
		if events.OfMachine(rec) {
			out = m.Apply(tx, rec, false)
		} else {
			disarm(tx, rec)
		}
		each(m, tx, rec, &out)
		state.Commit(tx.Writes())
	}
	return state, nil
}

// disarm deletes the timer that a defect was met at: it does not fire again.
func disarm(tx *rows.Tx, rec *events.Record) {
	for _, e := range rec.Events {
		if q, ok := e.(*events.WorkflowQuarantined); ok && len(q.Timer) > 0 {
			k, err := rows.ParseKey(q.Timer)
			if err != nil {
				panic(err)
			}
			tx.Delete(k)
		}
	}
}

// Applied is the newest record that a closed store has.
func Applied(fs store.FS, dir string) (events.Position, error) {
	s, err := store.Open(store.Options{Dir: dir, FS: fs})
	if err != nil {
		return events.Position{}, err
	}
	return s.Metadata().Applied.Position, s.Close()
}

// Read is what a closed store holds of some tables.
func Read(fs store.FS, dir string, tables []rows.Table) (Content, error) {
	s, err := store.Open(store.Options{Dir: dir, FS: fs})
	if err != nil {
		return nil, err
	}
	all := Content{}
	for _, t := range tables {
		err := s.ScanTable(t, func(k rows.Key, value []byte) bool {
			all[string(k.Append(nil))] = bytes.Clone(value)
			return true
		})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return all, s.Close()
}

// Compare names the first rows that differ.
func Compare(what string, want, have Content) error {
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range have {
		keys[k] = true
	}
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		a, inWant := want[k]
		b, inHave := have[k]
		if inWant == inHave && bytes.Equal(a, b) {
			continue
		}
		key, err := rows.ParseKey([]byte(k))
		if err != nil {
			errs = append(errs, err)
		}
		errs = append(errs, complain(key.Workflow, "%s: row %+v\n  is   %s\n  want %s", what, key, rowText(b, inHave), rowText(a, inWant)))
		if len(errs) == 5 {
			break
		}
	}
	return errors.Join(errs...)
}

func rowText(value []byte, there bool) string {
	if !there {
		return "not there"
	}
	return wire.Text(value)
}
