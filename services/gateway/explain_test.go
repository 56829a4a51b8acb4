package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/request/requesttest"
	"github.com/heddle-run/heddle/shared/events"
)

// offered is a script whose workflow has attempts that were offered to the pools of those names.
func offered(pools ...string) requesttest.Script {
	return func(q requesttest.Request) []events.Reply {
		if q.Query.Kind == events.PlacesQuery {
			if q.Query.Workflow != "pool:images" {
				return []events.Reply{{Kind: events.ReplyAnswer, Result: events.ResultRefused, Refusal: &events.Refusal{Code: "not_found", Message: "no such pool"}}}
			}
			return []events.Reply{requesttest.Answer(fmt.Sprintf(`{"queued":17,"waits":"no runner is connected","places":{%q:3}}`, strings.Split(q.Query.Filter, ",")[0]))}
		}
		var items []string
		for i, pool := range pools {
			token := events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w", Runnable: events.RunnableID(i + 1), Attempt: 1}))
			items = append(items, fmt.Sprintf(`{"id":"r%d","component":"c","task":"x","queue":"images","status":"active","attempt":1,"token":%q,"pool":%q,`+
				`"input":1,"result":null,"error":null,"due_at":null,"waits_for":%q,"attempts":[]}`, i+1, token, pool, events.AwaitsSlot(pool)+aLimit))
		}
		return []events.Reply{requesttest.Answer(`{"status":"running","reasons":[],"items":[` + strings.Join(items, ",") + `],"next_cursor":null}`)}
	}
}

// The place in the queue of a pool is told, with what is waited for there. Of an attempt that is in the queue no more, and
// where the pool does not answer, what the planner says stays.
func TestThePlaceInTheQueueOfAPoolIsTold(t *testing.T) {
	r := start(t, offered("images", "images", "gone"))
	for _, path := range []string{"explain", "runnables"} {
		body := r.ask(t, "GET", "/v1/workflows/w/"+path, "").body
		for _, want := range []string{
			`"waits_for":"a free slot of a runner of the pool \"images\": it is number 3 of 17 in the queue, and no runner is connected; one must begin it by noon"`,
			`"waits_for":"a free slot of a runner of the pool \"images\": heddle pools images shows its queue; one must begin it by noon"`,
			`"waits_for":"a free slot of a runner of the pool \"gone\": heddle pools gone shows its queue; one must begin it by noon"`,
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%s is not in %s", want, body)
			}
		}
	}
}
