package sim

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn speaks the Kafka protocol over one connection, one request at a time: it
// has no goroutine, so who asks what and when is all in the scheduler's hand.
type conn struct {
	net    net.Conn
	format *kmsg.RequestFormatter
	asked  int32
	buf    []byte
}

func newConn(c net.Conn) *conn {
	return &conn{net: c, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("sim"))}
}

// versions are those of the requests that are made: as new as the embedded broker
// knows, below the ones that name topics by their random ids. Transactions are
// those of KIP-890, as clients choose them there.
var versions = map[kmsg.Key]int16{
	kmsg.Produce: 12, kmsg.Fetch: 12, kmsg.ListOffsets: 7, kmsg.OffsetCommit: 9, kmsg.OffsetFetch: 9, kmsg.OffsetDelete: 0,
	kmsg.CreateTopics: 7, kmsg.DeleteTopics: 5, kmsg.DeleteRecords: 2, kmsg.InitProducerID: 4, kmsg.EndTxn: 5, kmsg.TxnOffsetCommit: 5,
	kmsg.ListTransactions: 1,
}

// ask sends a request and reads its response.
func (c *conn) ask(req kmsg.Request) (kmsg.Response, error) {
	version, ok := versions[kmsg.Key(req.Key())]
	if !ok {
		panic(fmt.Sprintf("sim: no version of request %s", kmsg.NameForKey(req.Key())))
	}
	req.SetVersion(version)
	c.asked++
	c.buf = c.format.AppendRequest(c.buf[:0], req, c.asked)
	if _, err := c.net.Write(c.buf); err != nil {
		return nil, fmt.Errorf("ask the embedded broker: %w", err)
	}
	body, err := c.read()
	if err != nil {
		return nil, fmt.Errorf("read the embedded broker's answer: %w", err)
	}
	resp := req.ResponseKind()
	if resp.IsFlexible() {
		body = body[1:] // the header's tags: there are none
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("the embedded broker's answer to %s: %w", kmsg.NameForKey(req.Key()), err)
	}
	return resp, nil
}

// read is the body of the next response.
func (c *conn) read() ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c.net, head[:]); err != nil {
		return nil, err
	}
	if id := int32(binary.BigEndian.Uint32(head[4:])); id != c.asked {
		return nil, fmt.Errorf("response %d to request %d", id, c.asked)
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:])-4) // its records alias it
	_, err := io.ReadFull(c.net, body)
	return body, err
}
