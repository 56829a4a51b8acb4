package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/heddle-run/heddle/shared/events"
)

// The list of keys is of no view: the partitions are asked. They are asked in waves, so that a
// list of many partitions takes no longer than the slowest of a few, and no page asks more than mostAsked.
const (
	keyWave   = 16
	mostAsked = 64
)

// keyPlace is where a page of keys begins: in a partition, behind the id of a key or at the first.
type keyPlace struct {
	partition int32
	after     string
}

func (p keyPlace) cursor() string { return fmt.Sprintf("%d,%s", p.partition, p.after) }

// keyPlaceOf is the inverse of cursor; of none it is the beginning.
func (g *Gateway) keyPlaceOf(cursor string) (keyPlace, error) {
	if cursor == "" {
		return keyPlace{}, nil
	}
	number, after, ok := strings.Cut(cursor, ",")
	p, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil || p < 0 || int32(p) >= g.follow.partitions {
		return keyPlace{}, errors.New("not the next_cursor of a list of keys")
	}
	if after != "" {
		if _, _, err := events.ParseKeyID(after); err != nil {
			return keyPlace{}, errors.New("not the next_cursor of a list of keys")
		}
	}
	return keyPlace{int32(p), after}, nil
}

// listKeys asks the partitions, in their order, until the page is full.
func (g *Gateway) listKeys(w http.ResponseWriter, r *http.Request) error {
	kind, err := keyKind(r)
	if err != nil {
		return err
	}
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	at, err := g.keyPlaceOf(r.URL.Query().Get("cursor"))
	if err != nil {
		return refuseField("invalid_parameter", "cursor", err.Error())
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	page := List[events.KeySummary]{Items: []events.KeySummary{}}
	next := at
	for end := min(at.partition+mostAsked, g.follow.partitions); len(page.Items) < limit && next.partition < end; {
		if next, err = g.keyWave(ctx, &page, kind, next, min(end, next.partition+keyWave), limit); err != nil {
			return err
		}
	}
	if next.partition < g.follow.partitions {
		cursor := next.cursor()
		page.Next = &cursor
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// keyWave asks the partitions up to one at the same time, and adds what they have to the page, as
// much as it has room for. It returns where to go on.
func (g *Gateway) keyWave(ctx context.Context, page *List[events.KeySummary], kind string, at keyPlace, end int32, limit int) (keyPlace, error) {
	room := limit - len(page.Items)
	lists, errs := make([]events.KeyList, end-at.partition), make([]error, end-at.partition)
	var wg sync.WaitGroup
	for i := range lists {
		from := keyPlace{partition: at.partition + int32(i)}
		if i == 0 {
			from = at
		}
		wg.Go(func() { lists[i], errs[i] = g.keysOf(ctx, kind, from, room) })
	}
	wg.Wait()
	for i, l := range lists {
		p := at.partition + int32(i)
		if errs[i] != nil {
			return at, errs[i]
		}
		if room = limit - len(page.Items); len(l.Items) > room {
			l.Items = l.Items[:room]
			last := l.Items[room-1]
			l.Next = events.KeyOf(last.Kind, last.Name)
		}
		page.Items = append(page.Items, l.Items...)
		if l.Next != "" {
			return keyPlace{p, l.Next}, nil
		}
		if len(page.Items) == limit {
			return keyPlace{partition: p + 1}, nil
		}
	}
	return keyPlace{partition: end}, nil
}

// keysOf asks one partition for its keys from a place on.
func (g *Gateway) keysOf(ctx context.Context, kind string, from keyPlace, limit int) (l events.KeyList, err error) {
	body, err := g.requests.ReadAt(ctx, from.partition, events.Query{
		Kind: "keys", Workflow: events.KeyPrefix, Filter: kind, Cursor: from.after, Limit: uint32(limit),
	})
	if err == nil {
		err = json.Unmarshal(body, &l)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return l, retry(refuse("no_answer", fmt.Sprintf("the planner that owns partition %d did not answer in time; /v1/readiness/%d says what keeps it", from.partition, from.partition)), 2)
	}
	return l, err
}
