package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/services/gateway"
)

// statuses writes records of the status topic.
func (r *rig) statuses(t *testing.T, list ...*kgo.Record) {
	t.Helper()
	cl, err := kafka.NewEffectsProducer(r.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(r.ctx, list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// row is a status record; created counts seconds.
func (r *rig) row(id, status, definition, team string, created, seq int) *kgo.Record {
	at := time.Date(2026, 1, 2, 3, 4, created, 0, time.UTC).Format("2006-01-02T15:04:05.000Z07:00")
	value := fmt.Sprintf(`{"id":%q,"run":"1.2","status":%q,"definition":{"name":%q,"version":"1","digest":"sha256:%s"},`+
		`"labels":{"team":%q,"size":%d},"partition":0,"created_at":%q,"updated_at":%q,`+
		`"counts":{"ready":0,"waiting":0,"active":0,"completed":0,"failed":0,"skipped":0,"suppressed":0,"cancelled":0},`+
		`"failure":null,"position":"1.%d"}`, id, status, definition, definition, team, created, at, at, seq)
	return kafka.Keyed(r.Topics.Status(), []byte(id), []byte(value))
}

// listed are the ids of one page.
func (r *rig) listed(t *testing.T, query string) (ids []string, next string) {
	t.Helper()
	a := r.ask(t, "GET", "/v1/workflows?"+query, "")
	var page struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
		Next *string `json:"next_cursor"`
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 {
		t.Fatalf("%s: %d %s", query, a.status, a.body)
	}
	for _, item := range page.Items {
		ids = append(ids, item.ID)
	}
	if page.Next != nil {
		next = *page.Next
	}
	return ids, next
}

func (r *rig) awaitListed(t *testing.T, query string, want ...string) {
	t.Helper()
	var got []string
	defer func() {
		if t.Failed() {
			t.Logf("%s: got %q, want %q", query, got, want)
		}
	}()
	awaitTrue(t, r.ctx, func() bool {
		got, _ = r.listed(t, query)
		return slices.Equal(got, want)
	})
}

func TestListsAreFilteredNewestFirst(t *testing.T) {
	r := start(t, planner)
	r.statuses(t,
		r.row("a", "idle", "orders", "x", 1, 2), r.row("b", "running", "orders", "y", 2, 3),
		r.row("c", "failed", "mails", "x", 3, 4), r.row("d/1", "running", "orders", "x", 4, 5),
		r.row("b", "idle", "orders", "y", 2, 6),
	)
	r.awaitListed(t, "", "d/1", "c", "b", "a")
	for query, want := range map[string][]string{
		"status=idle":                               {"b", "a"},
		"status=running":                            {"d/1"},
		"status=paused":                             nil,
		"definition=orders":                         {"d/1", "b", "a"},
		"definition=orders@1&status=idle":           {"b", "a"},
		"definition=orders@2":                       nil,
		"definition=sha256:mails":                   {"c"},
		"label.team=x":                              {"d/1", "c", "a"},
		"label.team=x&status=failed":                {"c"},
		"label.size=2":                              {"b"},
		"created_after=2026-01-02T03:04:02Z":        {"d/1", "c"},
		"created_after=2027-01-02T03:04:02%2B01:00": nil,
		"created_before=2026-01-02T03:04:02Z":       {"a"},
		"updated_after=2026-01-02T03:04:03Z":        {"d/1"},
		"q=D/%20team=x":                             {"d/1"},
		"q=orders%20team=y":                         {"b"},
		"error=timeout":                             nil,
	} {
		if got, next := r.listed(t, query); !slices.Equal(got, want) || next != "" {
			t.Errorf("%s: got %q and %q, want %q", query, got, next, want)
		}
	}
	for _, query := range []string{"limit=0", "limit=1001", "cursor=x", "created_after=now", "state=idle"} {
		if a := r.ask(t, "GET", "/v1/workflows?"+query, ""); a.status != 400 {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
	for query, says := range map[string]string{
		"status=faild": "did you mean failed?", "error=": "is empty", "q=%20": "is empty", "updated_before=then": "24h or 7d", "label.=x": "label.",
	} {
		name, _, _ := strings.Cut(query, "=")
		if a := r.ask(t, "GET", "/v1/workflows?"+query, ""); a.status != 400 || !strings.Contains(a.body, says) || !strings.Contains(a.body, `"path":"`+name) {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}

func TestPagesFollowEachOther(t *testing.T) {
	r := start(t, planner)
	var list []*kgo.Record
	var want []string
	for i := range 25 {
		id := fmt.Sprintf("w%02d", i)
		list = append(list, r.row(id, "idle", "d", "x", i/3, 2+i)) // several of one time
		want = append(want, id)
	}
	slices.SortFunc(want, func(a, b string) int {
		return 1000*(num(b)/3-num(a)/3) + strings.Compare(a, b)
	})
	r.statuses(t, list...)
	r.awaitListed(t, "", want...)
	for _, filter := range []string{"", "status=idle&", "definition=d&"} {
		var got []string
		for next := ""; ; {
			ids, more := r.listed(t, filter+"limit=7&cursor="+url.QueryEscape(next))
			if got = append(got, ids...); more == "" {
				break
			}
			next = more
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", filter, got, want)
		}
	}
}

// What somebody else wrote to the status topic is shown as it is; it must not
// cost the list of all others.
func TestAStrangeStatusMakesNoListFail(t *testing.T) {
	r := start(t, planner)
	strange := func(id, fields string) *kgo.Record {
		value := fmt.Sprintf(`{"id":%q,"status":"idle","created_at":"2026-01-02T03:04:05Z","position":"1.9",%s}`, id, fields)
		return kafka.Keyed(r.Topics.Status(), []byte(id), []byte(value))
	}
	r.statuses(t,
		strange("w1", `"labels":[1],"partition":0`), strange("w2", `"labels":"team","partition":0`),
		strange("w3", `"labels":{"team":{"a":1}},"partition":"none"`), strange("w4", `"partition":99999999999`),
		r.row("good", "idle", "d", "x", 1, 2),
	)
	r.awaitListed(t, "status=idle", "w1", "w2", "w3", "w4", "good")
	r.awaitListed(t, "label.team=x", "good")
}

func num(id string) int {
	n := 0
	if _, err := fmt.Sscanf(id, "w%d", &n); err != nil {
		panic(err)
	}
	return n
}

func TestOlderStatusChangesNothingAndDeletionRemoves(t *testing.T) {
	r := start(t, planner)
	r.statuses(t, r.row("a", "idle", "d", "x", 1, 9))
	r.awaitListed(t, "status=idle", "a")
	r.statuses(t, r.row("a", "running", "d", "x", 1, 8), r.row("mark", "paused", "d", "x", 1, 1))
	r.awaitListed(t, "status=paused", "mark") // so the older one was seen, if on the same partition
	r.awaitListed(t, "status=idle", "a")
	r.statuses(t, kafka.Keyed(r.Topics.Status(), []byte("a"), nil))
	r.awaitListed(t, "", "mark")
	r.awaitListed(t, "status=idle")
}

func TestViewGoesOnWhereItStopped(t *testing.T) {
	dir := t.TempDir()
	at := func(c *gateway.Config) { c.Dir = dir }
	r := start(t, planner)
	r.statuses(t, r.row("a", "idle", "d", "x", 1, 2))
	reopen := func() *gateway.Gateway {
		cfg := gateway.Config{Kafka: r.Config}
		at(&cfg)
		g, err := gateway.Open(r.ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for i, want := range [][]string{{"a"}, {"b", "a"}} {
		g := reopen()
		awaitTrue(t, r.ctx, func() bool { return slices.Equal(gateway.Listed(t, g), want) })
		if i == 1 && gateway.Taken(g) != 1 {
			t.Errorf("the second one read %d records, want 1", gateway.Taken(g))
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		r.statuses(t, r.row("b", "idle", "d", "x", 2, 3))
	}
}

func TestViewOfAnotherTopicIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"a", "b"} {
		r := start(t, planner, func(c *gateway.Config) { c.Dir = dir })
		r.statuses(t, r.row(id, "idle", "d", "x", 1, 2))
		r.awaitListed(t, "", id)
		if err := r.gw.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestViewOfAnotherFormIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	r := start(t, planner, func(c *gateway.Config) { c.Dir = dir })
	r.statuses(t, r.row("a", "idle", "d", "x", 1, 2))
	r.awaitListed(t, "", "a")
	if err := r.gw.Close(); err != nil {
		t.Fatal(err)
	}
	gateway.MakeFormless(t, dir)
	g, err := gateway.Open(r.ctx, gateway.Config{Kafka: r.Config, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	awaitTrue(t, r.ctx, func() bool { return slices.Equal(gateway.Listed(t, g), []string{"a"}) })
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}
