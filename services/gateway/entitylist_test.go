package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// keyed answers for partitions of which every third one has keys, as many as its number and no more
// than a few in an answer.
func keyed(q requesttest.Request) []events.Reply {
	if q.Query == nil || q.Query.Kind != "keys" {
		return planner(q)
	}
	l := events.KeyList{Items: []events.KeySummary{}}
	if p := q.Record.Partition; p%3 == 1 {
		for _, name := range keysIn(p) {
			switch id := events.KeyOf(events.RateKey, name); {
			case id <= q.Query.Cursor:
			case len(l.Items) == min(int(q.Query.Limit), 5):
				last := l.Items[len(l.Items)-1]
				l.Next = events.KeyOf(last.Kind, last.Name)
			default:
				l.Items = append(l.Items, events.KeySummary{Kind: events.RateKey, Name: name, Limit: 3, Per: 1000})
			}
		}
	}
	b, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return []events.Reply{requesttest.Answer(string(b))}
}

func keysIn(p int32) (names []string) {
	for n := range p {
		names = append(names, fmt.Sprintf("%03d of %d", n, p))
	}
	return names
}

// Each key of each partition is listed once, whatever the pages and the waves in which the partitions are asked.
func TestKeysOfAllPartitionsAreListed(t *testing.T) {
	const partitions = 70 // more than one page asks
	r := startOver(t, partitions, keyed)
	var want []string
	for p := range int32(partitions) {
		if p%3 == 1 {
			want = append(want, keysIn(p)...)
		}
	}
	for _, limit := range []int{7, 100, 1000} {
		var got []string
		for cursor := ""; ; {
			a := r.ask(t, "GET", fmt.Sprintf("/v1/keys?limit=%d&kind=rate&cursor=%s", limit, url.QueryEscape(cursor)), "")
			var page gateway.List[events.KeySummary]
			if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 || len(page.Items) > limit {
				t.Fatalf("%d %s, %v", a.status, a.body, err)
			}
			for _, k := range page.Items {
				got = append(got, k.Name)
			}
			if page.Next == nil {
				break
			}
			cursor = *page.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("by pages of %d there are %d keys, want %d:\n%q", limit, len(got), len(want), got)
		}
	}
}

// A partition that does not answer is named: what it has is not left out silently.
func TestAListOfKeysNamesThePartitionThatDoesNotAnswer(t *testing.T) {
	r := start(t, func(q requesttest.Request) []events.Reply {
		if q.Query != nil && q.Record.Partition == 1 {
			return nil
		}
		return keyed(q)
	}, func(c *gateway.Config) { c.Limits.Answer = 500_000_000 })
	a := r.ask(t, "GET", "/v1/keys", "")
	if a.status != 503 || a.code() != "no_answer" || !strings.Contains(a.body, "partition 1 did not answer") || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, bad := range []string{"x", "2,", "-1,", "0,x", "0,key:both/a", "99999999999,"} {
		if a := r.ask(t, "GET", "/v1/keys?cursor="+url.QueryEscape(bad), ""); a.status != 400 || a.code() != "invalid_parameter" {
			t.Errorf("cursor %q: %d %s", bad, a.status, a.body)
		}
	}
}
