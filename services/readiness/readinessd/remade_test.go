package readinessd_test

import (
	"testing"
	"time"
)

// What readiness reads and writes may be made anew under it.
func TestTopicsThatAreMadeAnewAreAdopted(t *testing.T) {
	r := start(t, held("a", time.Hour))
	r.until(t, "partition 1: authority lease not acquired")
	r.Remake(t, r.Topics.Authority())
	r.out.PurgeTopicsFromProducing(r.Topics.Authority())
	r.publish(t, 1, held("b", time.Hour))
	r.until(t) // partition 0 is known from before
}
