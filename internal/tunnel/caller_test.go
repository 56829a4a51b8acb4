package tunnel_test

import (
	"errors"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/frames"
)

var (
	begin = time.Unix(1_000_000, 0)
	here  = tunnel.Place{Pool: "p", Runner: "s1", Executor: "e1", Number: 1}
)

// calling is a request that the runner has, and what it does from then on.
func calling(at tunnel.Place) *tunnel.Caller {
	return tunnel.Call("r", begin, tunnel.Times{}, at, &frames.RequestStart{Token: "t", Method: "GET", Path: "/"})
}

func ack(last uint16) *frames.Tunnel {
	return &frames.Tunnel{RequestID: "r", Inner: &frames.TunnelAck{LastMessageIdx: last}}
}

// did is what a request wants done: messages with their executors, questions, and its end.
func did(c *tunnel.Caller) (relayed []tunnel.Relay, asked int, over *tunnel.Over) {
	for _, a := range c.Take() {
		switch a := a.(type) {
		case tunnel.Relay:
			relayed = append(relayed, a)
		case tunnel.Ask:
			asked++
		case tunnel.Over:
			over = &a
		}
	}
	return relayed, asked, over
}

// until wakes a request whenever it wants, and answers its questions, until it is over.
func until(t *testing.T, c *tunnel.Caller, found tunnel.Place, err error) (after time.Duration, aborted bool, why error) {
	t.Helper()
	for now := begin; now.Before(begin.Add(time.Hour)); now = c.Next() {
		c.Wake(now)
		relayed, asked, over := did(c)
		for _, r := range relayed {
			_, is := r.Message.Inner.(*frames.RequestAbort)
			aborted = aborted || is
		}
		if over != nil {
			return now.Sub(begin), aborted, over.Err
		}
		if asked > 0 {
			c.Found(now, found, err)
			if _, _, over := did(c); over != nil {
				return now.Sub(begin), aborted, over.Err
			}
		}
	}
	t.Fatal("it has no end")
	return 0, false, nil
}

// A request that nobody takes, of which nothing is heard, or whose attempt has gone is over in its time, and the runner hears of it.
func TestARequestHasItsTimes(t *testing.T) {
	if after, aborted, why := until(t, calling(here), here, nil); after != 10*time.Second || !errors.Is(why, tunnel.ErrConnect) || !aborted {
		t.Errorf("one that nobody takes: %v, %v, aborted: %v", after, why, aborted)
	}
	taken := calling(here)
	taken.Received(begin, here, ack(0))
	if after, aborted, why := until(t, taken, here, nil); after != 5*time.Minute || !errors.Is(why, tunnel.ErrIdle) || !aborted {
		t.Errorf("one that is silent: %v, %v, aborted: %v", after, why, aborted)
	}
	gone := calling(here)
	gone.Received(begin, here, ack(0))
	if after, _, why := until(t, gone, tunnel.Place{}, nil); after != 3*time.Second || !errors.Is(why, tunnel.ErrEnded) {
		t.Errorf("one whose attempt is gone: %v, %v", after, why)
	}
	if after, _, why := until(t, calling(tunnel.Place{Pool: "p", Runner: "s1"}), here, nil); after != 10*time.Second || !errors.Is(why, tunnel.ErrConnect) {
		t.Errorf("one whose runner had no socket: %v, %v", after, why)
	}
}

// The runner hears of the gateway at least each 20 s, or it would take it for gone.
func TestTheRunnerHearsOfItsGateway(t *testing.T) {
	c := calling(here)
	c.Received(begin, here, ack(0))
	last, longest := begin, time.Duration(0)
	for now := begin; now.Before(begin.Add(4 * time.Minute)); now = c.Next() {
		c.Wake(now)
		relayed, asked, _ := did(c)
		if len(relayed) > 0 {
			longest, last = max(longest, now.Sub(last)), now
		}
		if asked > 0 {
			c.Found(now, here, nil)
		}
	}
	if longest > 20*time.Second || last.Equal(begin) {
		t.Errorf("for %v nothing is said", longest)
	}
}

// A message of another runner counts for nothing; one by another socket of the same has what may be lost sent there.
func TestARunnerThatComesBackIsSentWhatItMayHaveMissed(t *testing.T) {
	c := calling(here)
	c.Send(begin, &frames.RequestChunk{Body: []byte("x")})
	did(c)
	other := here
	other.Runner = "s2"
	c.Received(begin, other, &frames.Tunnel{RequestID: "r", Inner: &frames.ResponseAbort{Reason: "not its own"}})
	if relayed, _, over := did(c); len(relayed) > 0 || over != nil {
		t.Errorf("another runner has %v sent, and it is over: %v", relayed, over)
	}
	again := here
	again.Executor, again.Number = "e2", 7
	c.Received(begin, again, ack(0))
	relayed, _, _ := did(c)
	if len(relayed) != 3 { // both messages, and what was taken
		t.Fatalf("sent is %+v", relayed)
	}
	for i, r := range relayed[:2] {
		if r.To != again || r.Message.MessageIdx != uint16(i) {
			t.Errorf("message %d goes to %+v with index %d", i, r.To, r.Message.MessageIdx)
		}
	}
	c.Missed(begin)
	c.Wake(begin.Add(100 * time.Millisecond))
	if _, asked, _ := did(c); asked != 1 {
		t.Error("what was missed is not asked for")
	}
	c.Found(begin, again, nil)
	if relayed, _, _ := did(c); len(relayed) != 2 || relayed[0].Message.MessageIdx != 1 {
		t.Errorf("sent again is %+v", relayed)
	}
}

// An end that does not keep to the protocol is cut off, and so is what it has begun.
func TestARunnerThatDoesNotKeepToTheProtocolIsCutOff(t *testing.T) {
	for name, m := range map[string]frames.TunnelMessage{
		"a request of its own": &frames.RequestStart{Token: "t", Method: "GET", Path: "/"}, "an acknowledgement of nothing": &frames.TunnelAck{LastMessageIdx: 9},
	} {
		c := calling(here)
		did(c)
		c.Received(begin, here, &frames.Tunnel{RequestID: "r", Inner: m})
		relayed, _, over := did(c)
		if over == nil || len(relayed) != 1 {
			t.Errorf("%s: sent is %+v, over: %v", name, relayed, over)
			continue
		}
		_, told := relayed[0].Message.Inner.(*frames.RequestAbort)
		if _, is := errors.AsType[*tunnel.AbortedError](over.Err); !is || !told {
			t.Errorf("%s: %v, told: %v", name, over.Err, told)
		}
	}
	c := calling(here)
	for i := range uint16(frames.TunnelMessages + 2) { // none of which the client takes
		c.Received(begin, here, &frames.Tunnel{RequestID: "r", MessageIdx: i, Inner: &frames.ResponseChunk{Body: make([]byte, 2100)}})
	}
	if _, _, over := did(c); over == nil || over.Err == nil {
		t.Error("more than a window is kept for a client that does not read")
	}
}

// A client that goes has the runner told at once, whatever waits; nothing of the request is done any more.
func TestAClientThatGoesEndsItsRequest(t *testing.T) {
	c := calling(here)
	did(c)
	c.Abort(begin, "gone")
	relayed, _, over := did(c)
	if len(relayed) != 1 || over == nil || over.Err != nil || c.Send(begin, &frames.RequestEnd{}) || !c.Next().IsZero() {
		t.Errorf("sent is %+v, over: %v, next is %v", relayed, over, c.Next())
	}
	c.Received(begin, here, &frames.Tunnel{RequestID: "r", Inner: &frames.ResponseStart{Status: 200}})
	if relayed, asked, over := did(c); len(relayed)+asked > 0 || over != nil {
		t.Error("something is done behind the end")
	}
}
