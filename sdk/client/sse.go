package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// maxEventLine bounds one line of an event stream.
const maxEventLine = 8 << 20

// stream reads one connection's events. last is the id of the last one, which a
// new connection goes on behind. done says that the consumer has left or that
// the server has ended the stream for good.
func (t *httpTransport) stream(ctx context.Context, workflow string, last *string, yield func(Event) bool) (done bool, err error) {
	r := request{method: http.MethodGet, path: path("v1", "workflows", workflow, "events"), accept: "text/event-stream"}
	r.lastEvent = *last
	resp, err := t.send(ctx, r)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 64<<10), maxEventLine)
	var e sseEvent
	for lines.Scan() {
		if len(lines.Bytes()) > 0 {
			e.field(lines.Bytes())
			continue
		}
		if len(e.data) == 0 {
			e = sseEvent{}
			continue
		}
		var out Event
		if err := json.Unmarshal(e.data, &out); err != nil {
			return false, fmt.Errorf("decode an event: %w", err)
		}
		*last = e.id
		if !yield(out) || out.Type == "WorkflowDeleted" {
			return true, nil
		}
		e = sseEvent{}
	}
	return false, lines.Err()
}

// sseEvent is one event of a text/event-stream.
type sseEvent struct {
	id   string
	data []byte
}

func (e *sseEvent) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "id":
		e.id = strings.Clone(string(value))
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
}
