//go:build integration

package integration

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A live planner goes on when an input topic is deleted and made anew, and so do
// those who write to it.
func TestInputTopicsThatAreMadeAnew(t *testing.T) {
	d := onThree(t, 2)
	d.api.startAndWait("before", chain(2, "shop.add"), 1)
	for _, topic := range []string{d.names.Commands(), d.names.Inbox(), d.names.Queries()} {
		d.remake(topic)
		began := time.Now()
		for i := range partitions { // whichever partition it is
			id := fmt.Sprintf("%s-%d", topic, i)
			eventually(t, takeoverLimit, "a workflow is started in the new "+topic, func() error { return d.decides(id) })
			d.endsWith(id, "2")
		}
		t.Logf("MADE ANEW: %s, every partition decided and ended a workflow %s later", topic, time.Since(began).Round(time.Millisecond))
	}
	d.endsWith("before", "3")
}

// What another system's open transaction hides is not denied: a read waits for it, or
// says what it waits for.
func TestAReadBehindAForeignTransaction(t *testing.T) {
	d := onThree(t, 1)
	other := d.foreignTransaction("hidden")
	if err := d.api.do(http.MethodPut, "/v1/workflows/hidden", object{"definition": chain(1, "shop.add"), "input": 1}, nil); err != nil {
		t.Fatalf("the start that the transaction hides: %v", err)
	}
	err := d.api.get("/v1/workflows/hidden", nil)
	status, ok := errors.AsType[*statusError](err)
	if !ok || status.code != http.StatusServiceUnavailable {
		t.Errorf("a read behind the transaction: %v, want 503", err)
	}
	if err := other.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	d.endsWith("hidden", "2")
}
