package runners_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// BenchmarkIdleRunners connects 2,000 runners over loopback, as behind an executor that has gone, to a pool that welcomes each. It tells how long
// that takes, and the memory of each one's socket once it is idle. The clients keep a connection each, and nothing else.
func BenchmarkIdleRunners(b *testing.B) {
	const count = 2000
	for b.Loop() {
		c := brokertest.Start(b, topics.Options{})
		ctx, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		all.Go(func() { welcoming(ctx, b, c) })
		s, err := runners.Open(ctx, runners.Config{Kafka: c.Config})
		if err != nil {
			b.Fatal(err)
		}
		ln, err := service.Listen(ctx, "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		h := &http.Server{Handler: s} //nolint:gosec // for a moment
		all.Go(func() { _ = h.Serve(ln) })
		before, began := used(), time.Now()
		conns := make([]net.Conn, count)
		var dialled sync.WaitGroup
		for i := range conns {
			dialled.Go(func() { conns[i] = raw(b, ln.Addr().String(), fmt.Sprintf("k%d", i)) })
		}
		dialled.Wait()
		b.ReportMetric(time.Since(began).Seconds(), "s/all")
		b.ReportMetric(float64(used()-before)/count, "B/runner")
		for _, conn := range conns {
			conn.Close()
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
		h.Close()
		stop()
		all.Wait()
	}
}

// used are the bytes of heap and stacks that are in use.
func used() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// raw connects a runner and returns its connection once it has been welcomed.
func raw(b *testing.B, addr, key string) net.Conn {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Error(err)
		return nil
	}
	fmt.Fprintf(conn, "GET %s?protocol_version=1&pool=images&runner_key=%s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", frames.Path, key)
	payload := frames.EncodeToServer(frames.JSON, initial())
	frame := append([]byte{0x81, 0x80 | byte(126)}, 0, 0, 0, 0, 0, 0) // a text, masked with zeros
	binary.BigEndian.PutUint16(frame[2:], uint16(len(payload)))
	if _, err := conn.Write(append(frame, payload...)); err != nil {
		b.Error(err)
	}
	r := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		if line, err = r.ReadString('\n'); err != nil {
			b.Error(err)
			return conn
		}
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil || head[0] != 0x81 {
		b.Errorf("instead of a frame: %x, %v", head, err)
	}
	return conn
}

// welcoming plays a pool that welcomes everybody.
func welcoming(ctx context.Context, b *testing.B, c *brokertest.Cluster) {
	inbox, err := kafka.NewTail(c.Config, kafka.FromStart, c.Topics.Inbox())
	if err != nil {
		b.Error(err)
		return
	}
	defer inbox.Close()
	out, err := kafka.NewEffectsProducer(c.Config)
	if err != nil {
		b.Error(err)
		return
	}
	defer out.Close()
	for n := uint64(1); ctx.Err() == nil; {
		inbox.PollFetches(ctx).EachRecord(func(k *kgo.Record) {
			m, err := events.DecodeInbox(k.Value)
			if err != nil {
				b.Error(err)
				return
			}
			r, is := m.(*events.RunnerReport)
			if !is || r.Hello == nil {
				return
			}
			n++
			answer := events.RunnerCommands{To: r.Connection, Pool: string(k.Key), Runner: fmt.Sprintf("images.%d", n), Welcome: &events.RunnerWelcome{Session: n, Threshold: threshold}}
			out.Produce(ctx, kafka.Keyed(c.Topics.RunnerCommands(), []byte(answer.Runner), wire.Marshal(&answer), kafka.RunnerFormat...), nil)
		})
	}
}
