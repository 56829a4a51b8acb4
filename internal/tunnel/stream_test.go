package tunnel_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/internal/tunnel"
	"github.com/heddle-run/heddle/shared/frames"
)

// resent is what a Stream sends again of its messages.
func resent(s *tunnel.Stream) []*frames.Tunnel {
	all := s.Again()
	return all[:len(all)-1]
}

func chunk(n int) *frames.RequestChunk { return &frames.RequestChunk{Body: make([]byte, n)} }

// The index wraps in both directions, many times over, and nothing is lost, repeated or out of order.
func TestIndexesWrapWithoutLoss(t *testing.T) {
	a, b := tunnel.NewStream("r"), tunnel.NewStream("r")
	const count = 3*65_536 + 17
	step := func(from, to *tunnel.Stream, n int) {
		t.Helper()
		if !from.Room(1) {
			t.Fatalf("message %d has no room", n)
		}
		m := from.Send(chunk(1))
		if m.MessageIdx != uint16(n) {
			t.Fatalf("message %d has the index %d", n, m.MessageIdx)
		}
		for i, want := range []tunnel.Verdict{tunnel.Fresh, tunnel.Again} {
			if got, err := to.Received(m); got != want || err != nil {
				t.Fatalf("message %d, for the %d. time: %v, %v", n, i+1, got, err)
			}
		}
		if to.Taken() {
			if _, err := from.Acked(to.Ack().Inner.(*frames.TunnelAck).LastMessageIdx); err != nil {
				t.Fatalf("message %d: %v", n, err)
			}
		}
	}
	for n := range count {
		step(&a, &b, n)
		step(&b, &a, n)
	}
}

// Whatever is lost, repeated and delayed within a window, what one end takes is what the other one has sent, in order, and neither
// keeps more than a window.
func TestNothingIsLostWithinAWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := tunnel.NewStream("r"), tunnel.NewStream("r")
		for range rapid.IntRange(0, 70_000).Draw(t, "behind the begin") { // so that indexes wrap in some
			m := a.Send(chunk(0))
			if _, err := b.Received(m); err != nil {
				t.Fatal(err)
			}
			b.Taken()
			if _, err := a.Acked(b.Ack().Inner.(*frames.TunnelAck).LastMessageIdx); err != nil {
				t.Fatal(err)
			}
		}
		var sent, received, taken []byte
		deliver := func(m *frames.Tunnel) {
			if ack, is := m.Inner.(*frames.TunnelAck); is {
				if _, err := a.Acked(ack.LastMessageIdx); err != nil {
					t.Fatal(err)
				}
				return
			}
			v, err := b.Received(m)
			if err != nil {
				t.Fatal(err)
			}
			if v == tunnel.Fresh {
				received = append(received, m.Inner.(*frames.RequestChunk).Body[0])
			}
		}
		lost := func() bool { return rapid.IntRange(0, 3).Draw(t, "lost") == 0 }
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				size := rapid.IntRange(1, frames.MaxTunnelBody).Draw(t, "size")
				if !a.Room(size) {
					continue
				}
				c := chunk(size)
				c.Body[0] = byte(len(sent))
				sent = append(sent, c.Body[0])
				if m := a.Send(c); !lost() {
					deliver(m)
				}
			case 1:
				if len(taken) < len(received) {
					taken = received[:len(taken)+1]
					if b.Taken() && !lost() {
						deliver(b.Ack())
					}
				}
			case 2:
				for _, m := range resent(&a) {
					deliver(m)
				}
			case 3:
				deliver(b.Ack())
			}
		}
		for range 1000 {
			for _, m := range resent(&a) {
				deliver(m)
			}
			for len(taken) < len(received) {
				taken = received[:len(taken)+1]
				b.Taken()
			}
			deliver(b.Ack())
		}
		if string(taken) != string(sent) || !a.Settled() {
			t.Fatalf("%d messages were sent and %d taken; settled: %v", len(sent), len(taken), a.Settled())
		}
	})
}

// Who does not keep to the window, or acknowledges what was not sent, is found out.
func TestAnEndThatDoesNotKeepToTheProtocolIsFoundOut(t *testing.T) {
	flood := func(size int) error {
		a, b := tunnel.NewStream("r"), tunnel.NewStream("r")
		for range frames.TunnelMessages + 1 {
			if _, err := b.Received(a.Send(chunk(size))); err != nil {
				return err
			}
		}
		return nil
	}
	for _, size := range []int{0, 3000} {
		if err := flood(size); !errors.Is(err, tunnel.ErrFlood) {
			t.Errorf("of messages of %d bytes more than a window are taken: %v", size, err)
		}
	}
	a := tunnel.NewStream("r")
	if a.Send(chunk(0)); !a.Room(frames.TunnelWindow) || a.Room(frames.TunnelWindow+1) {
		t.Error("a window has another size")
	}
	for last, want := range map[uint16]error{1: tunnel.ErrIndex, 300: tunnel.ErrIndex, 65_535: nil, 65_000: nil} {
		if news, err := a.Acked(last); news || !errors.Is(err, want) {
			t.Errorf("the acknowledgement of %d is news: %v, %v", last, news, err)
		}
	}
	if news, err := a.Acked(0); !news || err != nil || !a.Settled() {
		t.Errorf("the acknowledgement is news: %v, %v", news, err)
	}
}
