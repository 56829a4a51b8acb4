package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/heddle-run/heddle/internal/postgrestest"
	"github.com/heddle-run/heddle/sdk/store"
	"github.com/heddle-run/heddle/sdk/storetest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func TestConformance(t *testing.T) { storetest.Run(t, place) }

// place is an empty schema. A client is interrupted by cutting its connection in a message to the
// server: in the middle, or behind it, before the answer comes.
func place(t testing.TB) storetest.Place {
	url := database(t)
	return storetest.Place{
		Shared: true,
		Open:   func(t testing.TB) store.Opened { return opened(t, Options{URL: url}) },
		Interrupt: func(t testing.TB, step int, do func(context.Context, store.Store)) bool {
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			w := &postgrestest.Wire{Step: step / 2, Sent: 1 + step%2, Cut: cut}
			s := opened(t, Options{URL: url, Configure: w.Configure})
			w.Arm()
			do(ctx, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return ctx.Err() != nil
		},
	}
}

var (
	once sync.Once
	one  string
)

// database is one for all tests that need none of their own, emptied.
func database(t testing.TB) string {
	t.Helper()
	once.Do(func() { one = postgrestest.Database(t) })
	if one == "" {
		one = postgrestest.Database(t) // skips this test as it did the first
	}
	c := connect(t, one)
	if _, err := c.Exec(t.Context(), "DROP SCHEMA IF EXISTS heddle CASCADE"); err != nil {
		t.Fatal(err)
	}
	return one
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func opened(t testing.TB, o Options) store.Opened {
	t.Helper()
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whoever opens an empty database at the same time finds the tables made once.
func TestTablesAreMadeOnce(t *testing.T) {
	url := database(t)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			s, err := New(t.Context(), Options{URL: url})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Append(t.Context(), fmt.Sprint(n), 0, 1, [][]byte{{1}}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s := opened(t, Options{URL: url})
	defer s.Close()
	if p, err := s.List(t.Context(), store.Filter{}, ""); err != nil || len(p.Items) != 8 {
		t.Errorf("%d logs, %v", len(p.Items), err)
	}
	var versions int
	if err := connect(t, url).QueryRow(t.Context(), "SELECT count(*) FROM heddle.migrations").Scan(&versions); err != nil || versions != len(migrations) {
		t.Errorf("%d versions were noted, %v", versions, err)
	}
}

func TestALaterVersionIsRefused(t *testing.T) {
	url := database(t)
	if err := opened(t, Options{URL: url}).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t, url).Exec(t.Context(), "INSERT INTO heddle.migrations (version) VALUES (99)"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), url); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("opened with %v", err)
	}
}

// Who may not make tables uses those that are there, and schemas keep apart what is in them.
func TestAUserWhoMayOnlyReadAndWrite(t *testing.T) {
	url := database(t)
	o := Options{URL: url, Schema: `a "schema"; of its own`}
	other := opened(t, o)
	defer other.Close()
	if err := opened(t, Options{URL: url}).Close(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, url)
	for _, s := range []string{
		"DROP ROLE IF EXISTS plain", "CREATE ROLE plain LOGIN", "GRANT USAGE ON SCHEMA heddle TO plain",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA heddle TO plain",
	} {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := c.Exec(context.Background(), "DROP OWNED BY plain; DROP ROLE plain"); err != nil {
			t.Error(err)
		}
	})
	plain := strings.Replace(url, "user=postgres", "user=plain", 1)
	s := opened(t, Options{URL: plain})
	defer s.Close()
	if err := s.Append(t.Context(), "a", 0, 1, [][]byte{{1}}); err != nil {
		t.Error(err)
	}
	if there, err := other.Exists(t.Context(), "a"); err != nil || there {
		t.Errorf("it is in the other schema too: %t, %v", there, err)
	}
	if _, err := New(t.Context(), Options{URL: plain, Schema: "new"}); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a user without the right makes a schema: %v", err)
	}
}

func TestAnotherEncodingIsRefused(t *testing.T) {
	url := database(t)
	c := connect(t, url)
	for _, s := range []string{"DROP DATABASE IF EXISTS latin", "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0"} {
		if _, err := c.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	before, _, _ := strings.Cut(url, "?")
	if _, err := Open(t.Context(), strings.Replace(url, before, "postgres:///latin", 1)); err == nil || !strings.Contains(err.Error(), "LATIN1") {
		t.Errorf("opened with %v", err)
	}
}

// What was acknowledged is there behind the death of the server, and the store connects again by itself.
func TestTheServerIsKilled(t *testing.T) {
	s := opened(t, Options{URL: database(t)})
	defer s.Close()
	entry := [][]byte{[]byte("entry")}
	acked := uint64(0)
	for range 2 {
		if err := s.Append(t.Context(), "a", acked, 1, entry); err != nil {
			t.Fatal(err)
		}
		acked++
		if err := postgrestest.Kill(); err != nil {
			t.Fatal(err)
		}
		for s.Append(t.Context(), "a", acked, 1, entry) == nil { // by a process that has not noticed yet
			acked++
		}
		if err := postgrestest.Again(t.Context()); err != nil {
			t.Fatal(err)
		}
		log, err := s.Load(t.Context(), "a", 0)
		if err != nil || log.End != acked && log.End != acked+1 { // the last one may be there, though nobody has said so
			t.Fatalf("%d entries are there, and %d were acknowledged: %v", log.End, acked, err)
		}
		acked = log.End
	}
}

// A database whose transactions are of another isolation is no other store.
func TestTheIsolationOfTheDatabaseDoesNotCount(t *testing.T) {
	url := database(t)
	s := opened(t, Options{URL: url, Configure: func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	}})
	defer s.Close()
	for round := range uint64(8) {
		errs := make(chan error, 4)
		for range 4 {
			go func() { errs <- s.Append(t.Context(), "a", round, 1, [][]byte{{1}}) }()
		}
		won := 0
		for range 4 {
			var conflict *store.Conflict
			if err := <-errs; err == nil {
				won++
			} else if !errors.As(err, &conflict) {
				t.Fatal(err)
			}
		}
		if won != 1 {
			t.Fatalf("%d have won", won)
		}
	}
}

// An entry that is missing is told, and not left out.
func TestWhatIsMissingIsTold(t *testing.T) {
	url := database(t)
	s := opened(t, Options{URL: url})
	defer s.Close()
	if err := s.Append(t.Context(), "a", 0, 1, [][]byte{{1}, {2}, {3}}); err != nil {
		t.Fatal(err)
	}
	c := connect(t, url)
	for _, position := range []int{1, 0, 2} {
		if _, err := c.Exec(t.Context(), "DELETE FROM heddle.entries WHERE position = $1", position); err != nil {
			t.Fatal(err)
		}
		if log, err := s.Load(t.Context(), "a", 0); err == nil {
			t.Errorf("the log is given without an entry: %v", log)
		}
	}
}

// A deletion leaves no row behind, also of an append that it waits for.
func TestADeletionLeavesNothing(t *testing.T) {
	url := database(t)
	s := opened(t, Options{URL: url})
	defer s.Close()
	c := connect(t, url)
	for range 20 {
		if err := s.SaveSnapshot(t.Context(), "a", 1, store.Snapshot{Labels: map[string]string{"l": "v"}, Data: []byte{1}}); err != nil {
			t.Fatal(err)
		}
		appended := make(chan error, 1)
		go func() { appended <- s.Append(t.Context(), "a", 0, 1, [][]byte{{1}, {2}, {3}}) }()
		if err := s.Delete(t.Context(), "a", 1); err != nil {
			t.Fatal(err)
		}
		if err := <-appended; err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), "a", 1); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"logs", "entries", "snapshots", "labels"} {
			n := -1
			if err := c.QueryRow(t.Context(), "SELECT count(*) FROM heddle."+table).Scan(&n); err != nil || n != 0 {
				t.Fatalf("%d rows in %s, %v", n, table, err)
			}
		}
	}
}
