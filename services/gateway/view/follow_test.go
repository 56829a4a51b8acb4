package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A disk that fails for a while costs time and no record: neither those of the
// poll nor those of the polls behind it.
func TestAPollIsKeptUntilTheViewHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFileReadAt {
				return errorfs.ErrInjected
			}
			return nil
		})}
		fs := errorfs.Wrap(vfs.NewMem(), broken)
		v := openTestViewOn(t, fs, "view")
		takeAll(t, v, statusRecords(t, 1, "1.1"))
		closeTestView(t, v) // so that its rows are read from the disk again
		v = openTestViewOn(t, fs, "view")
		synctest.Wait() // Pebble, too, reads at the start, and gives up only to try again at once

		broken.On()
		time.AfterFunc(10*time.Second, broken.Off)
		began := time.Now()
		v.keep(t.Context(), polled(statusRecords(t, 2, "1.2")))
		if waited := time.Since(began); waited < 10*time.Second {
			t.Errorf("the poll was given up after %s, on a disk that was broken", waited)
		}
		for i := range 2 {
			got, err := v.get(fmt.Appendf(nil, "w/w%d", i))
			if err != nil || !bytes.Contains(got, []byte(`"position":"1.2"`)) {
				t.Errorf("of w%d the view has %q, %v", i, got, err)
			}
		}
		closeTestView(t, v)
	})
}

// statusRecords are statuses of workflows w0, w1, …
func statusRecords(t *testing.T, n int, position string) []*kgo.Record {
	t.Helper()
	var all []*kgo.Record
	for i := range n {
		s := testStatus(fmt.Sprint("w", i))
		s.Position = positionOf(position)
		value, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &kgo.Record{Key: []byte(s.ID), Value: value, Offset: int64(i)})
	}
	return all
}
