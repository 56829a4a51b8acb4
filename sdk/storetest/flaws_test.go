package storetest_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
	"github.com/heddle-run/heddle/sdk/storetest"
)

// flawed is a store that breaks its contract in one way, and the check of the kit that finds it.
type flawed struct {
	check string
	over  func(store.Opened) store.Store
}

// flaws are what adapters get wrong.
var flaws = map[string]flawed{
	"none": {"", func(s store.Opened) store.Store { return s }},
	"appends entry by entry": {"Torn", func(s store.Opened) store.Store {
		return flaw{Store: s, append: func(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
			if len(entries) < 2 || len(entries) > 100 { // as one that is short of time for the kit's largest batch
				return s.Append(ctx, id, at, epoch, entries)
			}
			for i, e := range entries {
				if err := s.Append(ctx, id, at+uint64(i), epoch, [][]byte{e}); err != nil {
					var c *store.Conflict
					if errors.As(err, &c) && i > 0 { // it was overtaken in the middle
						return errors.New("torn")
					}
					return err
				}
			}
			return nil
		}}
	}},
	"forgets fences": {"Fenced", func(s store.Opened) store.Store {
		return flaw{Store: s, append: func(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
			var f *store.Fenced
			err := s.Append(ctx, id, at, epoch, entries)
			if errors.As(err, &f) {
				return s.Append(ctx, id, at, f.Current, entries)
			}
			return err
		}}
	}},
	"appends wherever the log ends": {"Conflict", func(s store.Opened) store.Store {
		return flaw{Store: s, append: func(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
			var c *store.Conflict
			err := s.Append(ctx, id, at, epoch, entries)
			if errors.As(err, &c) {
				return s.Append(ctx, id, c.Actual, epoch, entries)
			}
			return err
		}}
	}},
	"two win": {"OneAppenderWins", func(s store.Opened) store.Store {
		return flaw{Store: s, append: func(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
			var c *store.Conflict
			err := s.Append(ctx, id, at, epoch, entries)
			if errors.As(err, &c) && id == "one" && at+2 == c.Actual && at == 6 {
				return nil
			}
			return err
		}}
	}},
	"lists too little": {"ListWhileWritten", func(s store.Opened) store.Store {
		return flaw{Store: s, list: func(ctx context.Context, f store.Filter, cursor string) (store.Page, error) {
			p, err := s.List(ctx, f, cursor)
			if f.Limit == 3 && len(p.Items) == 3 {
				p.Items = p.Items[:2] // and the next page begins behind the third
			}
			return p, err
		}}
	}},
}

// flaw replaces methods of a store.
type flaw struct {
	store.Store
	append func(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error
	list   func(ctx context.Context, f store.Filter, cursor string) (store.Page, error)
}

func (f flaw) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	if f.append == nil {
		return f.Store.Append(ctx, id, at, epoch, entries)
	}
	return f.append(ctx, id, at, epoch, entries)
}

func (f flaw) List(ctx context.Context, filter store.Filter, cursor string) (store.Page, error) {
	if f.list == nil {
		return f.Store.List(ctx, filter, cursor)
	}
	return f.list(ctx, filter, cursor)
}

// disk keeps what is in a memory that is not closed, and cuts what uses it off from it.
type disk struct {
	store.Opened
	left int    // writes until it is cut
	cut  func() // nil: it is not to be
}

var errCut = errors.New("cut off")

// gone answers as what is closed does.
var gone = func() store.Opened {
	s := memory.New()
	if err := s.Close(); err != nil {
		panic(err)
	}
	return s
}()

func (d *disk) Append(ctx context.Context, id string, at, epoch uint64, entries [][]byte) error {
	return d.write(func() error { return d.Opened.Append(ctx, id, at, epoch, entries) })
}

func (d *disk) SaveSnapshot(ctx context.Context, id string, epoch uint64, s store.Snapshot) error {
	return d.write(func() error { return d.Opened.SaveSnapshot(ctx, id, epoch, s) })
}

func (d *disk) Delete(ctx context.Context, id string, epoch uint64) error {
	return d.write(func() error { return d.Opened.Delete(ctx, id, epoch) })
}

func (d *disk) write(do func() error) error {
	if d.cut == nil {
		return do()
	}
	if d.left == 0 {
		d.cut()
		return errCut
	}
	d.left--
	return do()
}

func (d *disk) Close() error {
	d.Opened = gone
	return nil
}

type opened struct {
	store.Store
	close func() error
}

func (o opened) Close() error { return o.close() }

// The program of a flaw, or of none: it is run by TestFlawsAreFound.
func TestFlawed(t *testing.T) {
	name := os.Getenv("STORETEST_FLAW")
	if name == "" {
		name = "none"
	}
	storetest.Run(t, func(testing.TB) storetest.Place {
		kept := memory.New()
		return storetest.Place{
			Open: func(testing.TB) store.Opened {
				d := &disk{Opened: kept}
				return opened{flaws[name].over(d), d.Close}
			},
			Interrupt: func(t testing.TB, step int, do func(context.Context, store.Store)) bool {
				ctx, cut := context.WithCancel(t.Context())
				defer cut()
				do(ctx, flaws[name].over(&disk{Opened: kept, left: step, cut: cut}))
				return ctx.Err() != nil
			},
		}
	})
}

func TestFlawsAreFound(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(flaws)) {
		if name == "none" {
			continue // TestFlawed itself
		}
		t.Run(name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFlawed$/^"+flaws[name].check+"$", "-rapid.nofailfile")
			run.Env = append(os.Environ(), "STORETEST_FLAW="+name)
			out, err := run.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFlawed/"+flaws[name].check) {
				t.Errorf("the kit's check %s does not find it: %v\n%s", flaws[name].check, err, out)
			}
		})
	}
}
