package runners_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/frames"
)

// FuzzFrames lets a runner send whatever it likes, as its first frame and behind that: its socket may be closed, and another
// runner is served as before.
func FuzzFrames(f *testing.F) {
	for _, b := range [][]byte{
		frames.EncodeToServer(frames.JSON, initial()),
		frames.EncodeToServer(frames.JSON, &frames.ToServerEvents{Events: []frames.Event{state(0, "w", frames.StateRunning, nil), state(1, "w", frames.StateStopped, nil)}}),
		frames.EncodeToServer(frames.JSON, &frames.ToServerEvents{Events: []frames.Event{{Index: 0, Inner: &frames.Heartbeat{Token: "t"}}}}),
		frames.EncodeToServer(frames.JSON, &frames.ToServerEvents{Events: []frames.Event{{Index: 1 << 60, Inner: &frames.SetAlarm{Token: text("w")}}}}),
		frames.EncodeToServer(frames.JSON, &frames.ToServerAckCommands{LastCommandIdx: 1<<63 - 1}),
		frames.EncodeToServer(frames.JSON, &frames.ToServerStopping{}),
		frames.EncodeToServer(frames.JSON, &frames.ToServerPing{Ts: 1}),
		frames.EncodeToServer(frames.JSON, &frames.ToServerKvRequest{RequestID: 1, Token: "t", Inner: &frames.KvPut{Entries: []frames.KvEntry{{Key: "k", Value: json.RawMessage("1")}}}}),
		frames.EncodeToServer(frames.JSON, &frames.ToServerTunnel{Tunnel: frames.Tunnel{RequestID: "q", Inner: &frames.ResponseEnd{}}}),
		[]byte(`{"type":"ToServerEvents","events":[{"index":-1,"inner":{"type":"TaskState"}}]}`), []byte("null"), {}, {0xff, 0xfe},
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, brokertest.StartInBubble(t, topics.Options{Partitions: 1}))
			other := r.connect()
			for _, c := range []*runner{r.dial(query), r.connect()} {
				c.write(b)
				go func() {
					for {
						if _, err := c.next(patience); err != nil {
							return
						}
					}
				}()
			}
			synctest.Wait()
			other.alive()
		})
	})
}
