package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// notes is a log of what members did, in order.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

func (n *notes) member(name string) Func {
	return func(ctx context.Context, ready func()) error {
		n.add("start " + name)
		ready()
		<-ctx.Done()
		n.add("stop " + name)
		return nil
	}
}

func TestMembersStartInOrderAndStopInReverse(t *testing.T) {
	var n notes
	var g Group
	for _, name := range []string{"a", "b", "c"} {
		g.Add(name, n.member(name))
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := g.Run(ctx, cancel); err != nil {
		t.Fatal(err)
	}
	want := []string{"start a", "start b", "start c", "stop c", "stop b", "stop a"}
	if !slices.Equal(n.list, want) {
		t.Fatalf("got %q, want %q", n.list, want)
	}
}

func TestFailureOfOneMemberStopsTheOthers(t *testing.T) {
	var n notes
	var g Group
	boom := errors.New("boom")
	g.Add("a", n.member("a"))
	g.Add("b", func(context.Context, func()) error { return boom })
	err := g.Run(t.Context(), nil)
	if !errors.Is(err, boom) || err.Error() != "b: boom" {
		t.Fatalf("got %v, want b: boom", err)
	}
	if want := []string{"start a", "stop a"}; !slices.Equal(n.list, want) {
		t.Fatalf("got %q, want %q", n.list, want)
	}
}

func TestMemberThatDoesNotStopIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := Group{StopTimeout: time.Second}
		release := make(chan struct{})
		g.Add("stuck", func(_ context.Context, ready func()) error { ready(); <-release; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		err := g.Run(ctx, cancel)
		close(release)
		if err == nil || err.Error() != "stuck: did not stop within 1s" {
			t.Fatalf("got %v", err)
		}
	})
}

func TestMemberThatEndsWellDoesNotEndTheGroup(t *testing.T) {
	var n notes
	var g Group
	g.Add("once", func(context.Context, func()) error { return nil })
	g.Add("a", n.member("a"))
	ctx, cancel := context.WithCancel(t.Context())
	if err := g.Run(ctx, cancel); err != nil {
		t.Fatal(err)
	}
	if want := []string{"start a", "stop a"}; !slices.Equal(n.list, want) {
		t.Fatalf("got %q, want %q", n.list, want)
	}
}
