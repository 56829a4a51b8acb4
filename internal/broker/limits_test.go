package broker_test

import (
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-run/heddle/internal/broker"
)

func limited(t *testing.T, l broker.Limits) string {
	t.Helper()
	b, err := broker.Start(t.Context(), broker.Options{Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.Addr()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// answers reports whether a connection is answered after these bytes, or closed.
func answers(t *testing.T, conn net.Conn, sent []byte) bool {
	t.Helper()
	_, _ = conn.Write(sent) // it may be closed meanwhile, which the reading tells
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err := io.ReadFull(conn, make([]byte, 4))
	if nerr, ok := err.(net.Error); ok && nerr.Timeout() {
		t.Fatal("it is neither answered nor closed")
	}
	return err == nil
}

// versions asks for the broker's API versions in a request of so many bytes.
func versions(size int) []byte {
	name := size - 10
	b := binary.BigEndian.AppendUint32(nil, uint32(size))
	b = append(b, 0, 18, 0, 0, 0, 0, 0, 1)
	b = binary.BigEndian.AppendUint16(b, uint16(name))
	return append(b, make([]byte, name)...)
}

func announced(size uint32) []byte { return append(binary.BigEndian.AppendUint32(nil, size), 0, 0) }

func TestARequestIsBounded(t *testing.T) {
	const most = 1000
	addr := limited(t, broker.Limits{Frame: most})
	conn := dial(t, addr)
	if !answers(t, conn, versions(most)) {
		t.Error("a request as large as the limit is not answered")
	}
	for what, sent := range map[string][]byte{
		"one byte more than the limit": versions(most + 1),
		"a length below zero":          announced(1 << 31),
		"the largest length":           announced(1<<32 - 1),
		"less than a header":           announced(7),
		"a request that nobody knows":  append(binary.BigEndian.AppendUint32(nil, 20), 0x7f, 0xff),
		"HTTP":                         []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	} {
		if answers(t, dial(t, addr), sent) {
			t.Errorf("%s is answered", what)
		}
	}
}

// Lengths that are announced cost nothing by themselves: neither those of other
// protocols nor those that are within the limit, of which only so many are believed,
// and none for long.
func TestAnnouncedLengthsCostNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const frame = 8 << 20
		network := new(broker.Network)
		b, err := broker.Start(t.Context(), broker.Options{Network: network, Limits: broker.Limits{Frame: frame, Announced: 2 * frame}})
		if err != nil {
			t.Fatal(err)
		}
		ask := func(sent []byte) (net.Conn, bool) {
			conn, err := network.DialContext(t.Context(), "tcp", b.Addr())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			go func() { _, _ = conn.Write(sent) }() // it may be closed meanwhile, which the reading tells
			synctest.Wait()
			return conn, !closed(conn)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 32 {
			if _, open := ask([]byte("GET /v1/workflows HTTP/1.1\r\n\r\n")); open {
				t.Fatal("HTTP is listened to")
			}
		}
		var waiting []net.Conn
		for range 32 {
			if conn, open := ask(announced(frame)); open {
				waiting = append(waiting, conn)
			}
		}
		runtime.ReadMemStats(&after)
		if len(waiting) != 2 {
			t.Fatalf("%d of 32 are believed, want 2", len(waiting))
		}
		if cost := after.TotalAlloc - before.TotalAlloc; cost > 3*frame {
			t.Errorf("it cost %d bytes", cost)
		}
		waiting[0].Close()
		synctest.Wait()
		if _, open := ask(announced(frame)); !open {
			t.Error("what has gone still counts")
		}
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		if !closed(waiting[1]) {
			t.Error("a request that does not arrive is waited for")
		}
		if conn, _ := ask(versions(100)); closed(conn) {
			t.Error("a small request is not answered")
		}
		synctest.Wait()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

// closed reports whether the far side has closed a connection.
func closed(conn net.Conn) bool {
	if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	_, err := conn.Read(make([]byte, 1))
	nerr, ok := err.(net.Error)
	return err != nil && !(ok && nerr.Timeout())
}

func TestConnectionsAreBounded(t *testing.T) {
	const most = 20
	addr := limited(t, broker.Limits{Connections: most})
	var open []net.Conn
	for range most {
		conn := dial(t, addr)
		if !answers(t, conn, versions(20)) {
			t.Fatalf("of %d connections only %d are served", most, len(open))
		}
		open = append(open, conn)
	}
	if answers(t, dial(t, addr), versions(20)) {
		t.Errorf("%d connections are served", most+1)
	}
	if !answers(t, open[0], versions(20)) {
		t.Error("those that are there are not served")
	}
	open[0].Close()
	deadline := time.Now().Add(20 * time.Second)
	for !answers(t, dial(t, addr), versions(20)) {
		if time.Now().After(deadline) {
			t.Fatal("a place that was left is not given again")
		}
	}
}
