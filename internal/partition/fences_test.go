package partition

import (
	"context"
	"testing"
	"time"
)

// Fences without a coordinator keep no other partition from recovering.
func TestStuckFencesKeepNoOtherFromRecovering(t *testing.T) {
	inBubbleOf(t, recoveriesAtOnce+1, func(r *rig) {
		r.over = func(c Cluster) Cluster { return sickCluster{Cluster: c, sick: -1, unruled: recoveriesAtOnce} }
		var all []int32
		for p := range int32(recoveriesAtOnce) {
			all = append(all, p)
		}
		a := r.start("a", all...)
		defer a.loseAll()
		<-time.After(time.Second)
		a.owners = append([]*Owner{a.Own(context.Background(), recoveriesAtOnce)}, a.owners...)
		a.await(Owning)
	})
}
