package view

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// change is a batch in the making. Close it.
type change struct {
	db     *pebble.DB
	batch  *pebble.Batch
	rows   *pebble.Iterator // of what is stored; nil until something is read
	recent *recent
	logger *slog.Logger
	room   *changeRoom
}

// changeRoom is memory that one change after another uses.
type changeRoom struct{ key, from, to, row []byte }

func (v *View) change() *change {
	return &change{db: v.db, batch: v.db.NewBatch(), recent: &v.recent, logger: v.logger, room: &v.room}
}

func (c *change) close() error {
	var err error
	if c.rows != nil {
		err = c.rows.Close()
	}
	return errors.Join(err, c.batch.Close())
}

// put brings a workflow from its row to what its records, in their order, say.
// An empty status removes it. One that is older than the row changes nothing:
// records can come twice. One that cannot be read is passed over, and so are all
// of a workflow whose row cannot.
func (c *change) put(records []*kgo.Record) error {
	id := records[0].Key
	if len(id) == 0 { // no cursor could name its place
		c.passOver(id, errors.New("it is of no workflow"))
		return nil
	}
	if bytes.HasPrefix(id, []byte(events.NoticePrefix)) { // it says that a workflow has drained: its summary is a record of its own
		return nil
	}
	was, err := c.stored(id)
	if errors.Is(err, errStored) {
		c.passOver(id, err)
		return nil
	}
	if err != nil {
		return err
	}
	is, status := was, []byte(nil)
	var last *kgo.Record
	for _, r := range records {
		next, err := parseRow(r.Value)
		if err != nil {
			c.passOver(id, err)
			continue
		}
		if !next.older(is) {
			is, status, last = next, r.Value, r
		}
	}
	if last == nil {
		return nil
	}
	return c.move(id, was, is, status)
}

func (c *change) passOver(id []byte, err error) {
	c.logger.Warn("a status record is passed over", "workflow", string(id), "error", err)
}

// stored is a workflow's row; it is valid until the next.
func (c *change) stored(id []byte) (row, error) {
	b := c.recent.row(id)
	if b == nil {
		var err error
		if b, err = c.read(id); b == nil {
			return row{}, err
		}
	}
	r, _, err := storedRow(b)
	if err != nil {
		return row{}, fmt.Errorf("the view's own row of %s: %w", id, err)
	}
	return r, nil
}

// read looks in the store; nil when it has no such workflow. Most that are
// asked for are new, so filters answer, those of the last level too, which an
// ordinary lookup passes by.
func (c *change) read(id []byte) ([]byte, error) {
	if c.rows == nil {
		o := &pebble.IterOptions{LowerBound: []byte(rowPrefix), UpperBound: []byte(rowEnd), UseL6Filters: true}
		var err error
		if c.rows, err = c.db.NewIter(o); err != nil {
			return nil, fmt.Errorf("read the view: %w", err)
		}
	}
	c.room.key = appendRowKey(c.room.key[:0], id)
	if c.rows.SeekPrefixGE(c.room.key) {
		return c.rows.ValueAndErr()
	}
	if err := c.rows.Error(); err != nil {
		return nil, fmt.Errorf("read the view: %w", err)
	}
	return nil, nil
}

// move writes what differs.
func (c *change) move(id []byte, was, is row, status []byte) error {
	for _, i := range []index{byTime, byStatus, byDefinition} {
		from, to := i.appendKey(c.room.from[:0], was, id), i.appendKey(c.room.to[:0], is, id)
		c.room.from, c.room.to = from, to
		if bytes.Equal(from, to) {
			continue
		}
		if was.known {
			if err := c.batch.Delete(from, nil); err != nil {
				return err
			}
		}
		if is.known {
			if err := c.batch.Set(to, nil, nil); err != nil {
				return err
			}
		}
	}
	return c.replace(id, was.known, is, status)
}

// replace writes the row itself.
func (c *change) replace(id []byte, had bool, is row, status []byte) error {
	c.room.key = appendRowKey(c.room.key[:0], id)
	if !is.known {
		c.recent.forget(id)
		if !had {
			return nil
		}
		return c.batch.Delete(c.room.key, nil)
	}
	c.room.row = is.appendTo(c.room.row[:0])
	c.recent.put(id, c.room.row)
	op := c.batch.SetDeferred(len(c.room.key), len(c.room.row)+len(status))
	copy(op.Key, c.room.key)
	copy(op.Value[copy(op.Value, c.room.row):], status)
	return op.Finish()
}
