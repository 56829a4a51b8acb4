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

// A list of entities, as of keys and of pools, is of no view: the partitions are asked. They are asked in waves, so that a
// list of many partitions takes no longer than the slowest of a few, and no page asks more than mostAsked.
const (
	entityWave = 16
	mostAsked  = 64
)

// entityList is such a list.
type entityList struct {
	what  string                   // plural
	query events.Query             // that asks a partition for what it has; its place and its limit are put in
	known func(after string) error // refuses what is no cursor of a partition's answer
	only  *int32                   // the one partition that is asked; nil: all are
}

// entityPlace is where a page begins: in a partition, behind an item of it or at the first.
type entityPlace struct {
	partition int32
	after     string
}

func (p entityPlace) cursor() string { return fmt.Sprintf("%d,%s", p.partition, p.after) }

// place is the inverse of cursor; of none it is the beginning. end is behind the last partition of the list.
func (l *entityList) place(cursor string, partitions int32) (at entityPlace, end int32, err error) {
	if at, end = (entityPlace{}), partitions; l.only != nil {
		at.partition, end = *l.only, *l.only+1
	}
	if cursor == "" {
		return at, end, nil
	}
	number, after, ok := strings.Cut(cursor, ",")
	p, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil || int32(p) < at.partition || int32(p) >= end || after != "" && l.known(after) != nil {
		return at, end, errors.New("not the next_cursor of a list of " + l.what)
	}
	return entityPlace{int32(p), after}, end, nil
}

// listEntities asks the partitions, in their order, until the page is full.
func (g *Gateway) listEntities(w http.ResponseWriter, r *http.Request, l *entityList) error {
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	next, last, err := l.place(r.URL.Query().Get("cursor"), g.follow.partitions)
	if err != nil {
		return refuseField("invalid_parameter", "cursor", err.Error())
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.limits.Answer)
	defer cancel()
	page := List[json.RawMessage]{Items: []json.RawMessage{}}
	full := false
	for end := min(next.partition+mostAsked, last); !full && next.partition < end; {
		if next, full, err = g.entityWave(ctx, l, &page, next, min(end, next.partition+entityWave), limit); err != nil {
			return err
		}
	}
	if next.partition < last {
		cursor := next.cursor()
		page.Next = &cursor
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// entityWave asks the partitions up to one at the same time, and adds what they have to the page, each partition's answer if there is
// room for all of it. It returns where to go on, and whether the page ends there.
func (g *Gateway) entityWave(ctx context.Context, l *entityList, page *List[json.RawMessage], at entityPlace, end int32, limit int) (next entityPlace, full bool, err error) {
	room := limit - len(page.Items)
	lists, errs := make([]events.EntityList[json.RawMessage], end-at.partition), make([]error, end-at.partition)
	var wg sync.WaitGroup
	for i := range lists {
		from := entityPlace{partition: at.partition + int32(i)}
		if i == 0 {
			from = at
		}
		wg.Go(func() { lists[i], errs[i] = g.entitiesOf(ctx, l, from, room) })
	}
	wg.Wait()
	for i, part := range lists {
		p := at.partition + int32(i)
		if errs[i] != nil {
			return at, false, errs[i]
		}
		if len(page.Items)+len(part.Items) > limit {
			return entityPlace{partition: p}, true, nil
		}
		page.Items = append(page.Items, part.Items...)
		if part.Next != "" {
			return entityPlace{p, part.Next}, len(page.Items) == limit, nil
		}
	}
	return entityPlace{partition: end}, len(page.Items) == limit, nil
}

// entitiesOf asks one partition for what it has from a place on.
func (g *Gateway) entitiesOf(ctx context.Context, l *entityList, from entityPlace, limit int) (part events.EntityList[json.RawMessage], err error) {
	q := l.query
	q.Cursor, q.Limit = from.after, uint32(limit)
	body, err := g.requests.ReadAt(ctx, from.partition, q)
	if err == nil {
		err = json.Unmarshal(body, &part)
	}
	if err == nil && len(part.Items) > limit {
		err = fmt.Errorf("partition %d answers with %d %s, and was asked for %d", from.partition, len(part.Items), l.what, limit)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return part, retry(refuse("no_answer", fmt.Sprintf("the planner that owns partition %d did not answer in time; /v1/readiness/%d says what keeps it", from.partition, from.partition)), 2)
	}
	return part, err
}
