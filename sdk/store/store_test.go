package store_test

import (
	"context"
	"errors"

	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/store/memory"
)

// What begins with a prefix lies before its end, and what does not begin with it lies before it or from its end on.
func TestPrefixEndDividesTexts(t *testing.T) {
	letters := rapid.SampledFrom([]rune{'a', 'b', '\x7f', '\u07ff', '\ud7ff', '\ue000', '\uffff', '\U00010000', unicode.MaxRune})
	texts := rapid.StringOfN(letters, 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		prefix, s := texts.Draw(t, "prefix"), texts.Draw(t, "text")
		if rapid.Bool().Draw(t, "with the prefix") {
			s = prefix + s
		}
		end := store.PrefixEnd(prefix)
		within := s >= prefix && (end == "" || s < end)
		if within != strings.HasPrefix(s, prefix) {
			t.Fatalf("%q is within %q and %q: %t", s, prefix, end, within)
		}
		if err := store.CheckID("i" + end); err != nil {
			t.Fatalf("the end %q: %v", end, err)
		}
	})
}

// parts is a store whose loads are as a test says.
type parts struct {
	store.Store
	load func(from uint64) (store.Log, error)
}

func (p parts) Load(_ context.Context, _ string, from uint64) (store.Log, error) { return p.load(from) }

func TestEntriesThatCannotBeReadAreAnError(t *testing.T) {
	broken := errors.New("the disk is broken")
	one := [][]byte{{1}}
	for name, c := range map[string]struct {
		load func(from uint64) (store.Log, error)
		read int
		want string
	}{
		"the store fails": {func(from uint64) (store.Log, error) {
			if from == 1 {
				return store.Log{}, broken
			}
			return store.Log{Entries: one, End: 2}, nil
		}, 1, broken.Error()},
		"deleted meanwhile": {func(from uint64) (store.Log, error) {
			if from == 1 {
				return store.Log{}, nil
			}
			return store.Log{Entries: one, End: 2}, nil
		}, 1, "it was deleted"},
		"an adapter gives nothing": {func(uint64) (store.Log, error) { return store.Log{End: 2}, nil }, 0, "gives nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			read, failed := 0, error(nil)
			for _, err := range store.Entries(t.Context(), parts{load: c.load}, "a", 0) {
				if failed != nil {
					t.Fatal("something comes behind an error")
				}
				if failed = err; err == nil {
					read++
				}
			}
			if failed == nil || !strings.Contains(failed.Error(), c.want) || read != c.read {
				t.Errorf("read %d entries and then %v", read, failed)
			}
		})
	}
}

func TestEntriesFromWhereThereAreNone(t *testing.T) {
	s := memory.New()
	defer s.Close()
	if err := s.Append(t.Context(), "a", 0, 1, [][]byte{{1}}); err != nil {
		t.Fatal(err)
	}
	for _, from := range []uint64{1, 7} {
		for e, err := range store.Entries(t.Context(), s, "a", from) {
			t.Errorf("from %d comes %v, %v", from, e, err)
		}
	}
}

func TestASchemeIsRegisteredOnce(t *testing.T) {
	store.Register("once", memory.Open)
	for _, scheme := range []string{"once", "", "a:b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the scheme %q is registered", scheme)
				}
			}()
			store.Register(scheme, memory.Open)
		}()
	}
	for _, address := range []string{"", "once", "twice:"} {
		if _, err := store.Open(t.Context(), address); err == nil || !strings.Contains(err.Error(), "once") {
			t.Errorf("opening %q: %v", address, err)
		}
	}
	failed := errors.New("no such database")
	store.Register("failing", func(context.Context, string) (store.Opened, error) { return nil, failed })
	if _, err := store.Open(t.Context(), "failing:"); !errors.Is(err, failed) {
		t.Error(err)
	}
}
