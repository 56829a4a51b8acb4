package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// What a gateway follows and answers by may be made anew under it: it adopts the new
// topics, and its list is that of the new status topic.
func TestTopicsThatAreMadeAnewAreAdopted(t *testing.T) {
	r := start(t, planner)
	r.statuses(t, r.row("old", "idle", "d", "a", 1, 1), r.row("both", "idle", "d", "a", 2, 1))
	r.lists(t, "both", "old")
	for round := range 2 {
		for _, topic := range []string{r.Topics.Status(), r.Topics.Replies(), r.Topics.Authority(), r.Topics.Readiness()} {
			r.Remake(t, topic)
		}
		fresh := fmt.Sprint("new", round)
		r.statuses(t, r.row(fresh, "idle", "d", "a", 3, 1), r.row("both", "paused", "d", "a", 2, 1))
		r.lists(t, fresh, "both")
		for r.ask(t, "GET", "/v1/workflows/w", "").status != http.StatusOK {
			r.again(t, "no question is answered")
		}
	}
}

// lists waits until the list has these workflows.
func (r *rig) lists(t *testing.T, want ...string) {
	t.Helper()
	for {
		a := r.ask(t, "GET", "/v1/workflows?limit=10", "")
		var page struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if a.status == http.StatusOK && slices.Equal(got, want) {
			return
		}
		r.again(t, fmt.Sprintf("the list never was %q: %d %s", want, a.status, a.body))
	}
}

// again waits a moment between two questions, and fails the test in the end.
func (r *rig) again(t *testing.T, why string) {
	t.Helper()
	select {
	case <-r.ctx.Done():
		t.Fatal(why)
	case <-time.After(20 * time.Millisecond):
	}
}
