package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// maxEvent bounds one event of a stream in bytes.
const maxEvent = 8 << 20

// errEvent is an event that would not be read a second time either.
var (
	errEvent   = errors.New("an event cannot be read")
	errTooLong = fmt.Errorf("%w: it has more than %d bytes", errEvent, maxEvent)
)

// stream reads one connection's events. last is the id of the last one, which a
// new connection goes on behind. done says that the consumer has left or that
// the server has ended the stream for good.
func (t *httpTransport) stream(ctx context.Context, workflow string, last *string, yield func(Event) bool) (done bool, err error) {
	r := request{method: http.MethodGet, path: path("v1", "workflows", workflow, "events"), accept: eventStream}
	r.lastEvent, r.waits = *last, silence // the first event, or a sign of life
	resp, err := t.send(ctx, r)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return true, nil // it is closed, and all is told
	}
	if contentType(resp) != eventStream {
		return false, foreign(resp)
	}
	return readEvents(resp.Body, last, yield)
}

// readEvents reads the events of a text/event-stream, as stream does.
func readEvents(r io.Reader, last *string, yield func(Event) bool) (done bool, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxEvent)
	var e sseEvent
	for lines.Scan() {
		if line := lines.Bytes(); len(line) > 0 {
			if e.field(line); len(e.data) > maxEvent {
				return false, errTooLong
			}
			continue
		}
		if len(e.data) == 0 {
			e = sseEvent{}
			continue
		}
		var out Event
		if err := json.Unmarshal(e.data, &out); err != nil {
			return false, fmt.Errorf("%w: %w", errEvent, err)
		}
		*last = e.id
		if !yield(out) || out.Type == "WorkflowDeleted" {
			return true, nil
		}
		e = sseEvent{}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return false, errTooLong
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
