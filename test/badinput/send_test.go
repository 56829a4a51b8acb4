package badinput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/services/gateway"
	"github.com/heddle-run/heddle/shared/events"
)

// produce writes a record and returns it with its place.
func (r *rig) produce(k *kgo.Record) *kgo.Record {
	r.Helper()
	r.must(r.producer.ProduceSync(r.ctx, k).FirstErr())
	return k
}

// asking are the headers of a client that waits for a reply under an id.
func asking(id string) []kgo.RecordHeader {
	return []kgo.RecordHeader{
		kafka.Header(events.HeaderReplyTo, []byte("badinput")), kafka.Header(events.HeaderReplyID, []byte(id)),
	}
}

// command sends a command under an id and returns what was decided.
func (r *rig) command(workflow, id, name, body string) events.Reply {
	r.Helper()
	r.n++
	reply := fmt.Sprintf("reply-%d", r.n)
	headers := append(asking(reply),
		kafka.Header(events.HeaderID, []byte(id)), kafka.Header(events.HeaderType, []byte(events.CommandType(name))))
	r.produce(kafka.Keyed(r.names.Commands(), []byte(workflow), []byte(body), headers...))
	return r.replyTo(reply)
}

// do is command under a new id.
func (r *rig) do(workflow, name, body string) events.Reply {
	r.Helper()
	r.n++
	return r.command(workflow, fmt.Sprintf("do-%d", r.n), name, body)
}

// replyTo waits for the reply to a question.
func (r *rig) replyTo(id string) (reply events.Reply) {
	r.Helper()
	r.await("the reply "+id, func() bool {
		if len(r.replies[id]) > 0 {
			reply = r.replies[id][0]
		}
		return len(r.replies[id]) > 0
	})
	return reply
}

// letterOf waits for the dead letter of a record.
func (r *rig) letterOf(k *kgo.Record) (l letter) {
	r.Helper()
	r.await("the dead letter", func() bool {
		for _, l = range r.letters {
			if l.Topic == k.Topic && l.Partition == k.Partition && l.Offset == k.Offset {
				return true
			}
		}
		return false
	})
	if !bytes.Equal(l.Key, k.Key) || !bytes.Equal(l.Value, k.Value) {
		r.Errorf("the dead letter has other bytes: %+v", l)
	}
	return l
}

// refused holds that a reply refuses with a code and path.
func (r *rig) refused(reply events.Reply, code, path string) {
	r.Helper()
	if reply.Result != events.ResultRefused || reply.Refusal == nil || reply.Refusal.Code != code || reply.Refusal.Path != path || reply.Refusal.Message == "" {
		r.Errorf("the reply is %+v %+v, want the refusal %s at %q", reply, reply.Refusal, code, path)
	}
}

// done holds that a command was obeyed.
func (r *rig) done(reply events.Reply) {
	r.Helper()
	if reply.Result != events.ResultDone {
		r.Fatalf("the reply is %+v %+v, want done", reply, reply.Refusal)
	}
}

const good = `{"name":"good","components":{"a":{"step":"echo"},"b":{"expr":"input + 1","after":"a"}}}`

// goesOn holds that all partitions still do their work.
func (r *rig) goesOn() {
	r.Helper()
	for p := range int32(partitions) {
		id := r.idOn(p)
		run, err := r.client.Start(r.ctx, good, 41, client.StartOptions{ID: id, Wait: client.UntilDrained})
		if err != nil {
			r.Fatalf("partition %d does not go on: %v", p, err)
		}
		if out, err := client.Result[int](r.ctx, run, "b"); err != nil || out != 42 {
			r.Fatalf("a good workflow on partition %d gives %d, %v", p, out, err)
		}
	}
}

// problem is an answer of the gateway.
type problem struct {
	status int
	Type   string `json:"type"`
	Detail string `json:"detail"`
	Errors []struct {
		Path string `json:"path"`
	} `json:"errors"`
	body string
}

func (p problem) code() string { return strings.TrimPrefix(p.Type, gateway.ProblemPrefix) }

// ask sends an HTTP request; headers are pairs.
func (r *rig) ask(method, path, body string, headers ...string) problem {
	r.Helper()
	req, err := http.NewRequestWithContext(r.ctx, method, r.http.URL+path, strings.NewReader(body))
	r.must(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	r.must(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	r.must(err)
	p := problem{status: resp.StatusCode, body: string(b)}
	if len(b) > 0 && resp.Header.Get("Content-Type") == "application/problem+json" {
		r.must(json.Unmarshal(b, &p))
	}
	return p
}

// isProblem holds that an answer is a problem of a status and code, at a path if
// there is one.
func (r *rig) isProblem(p problem, status int, code, path string) {
	r.Helper()
	at := ""
	if len(p.Errors) > 0 {
		at = p.Errors[0].Path
	}
	if p.status != status || p.code() != code || path != "" && at != path {
		r.Errorf("the answer is %d %s at %q (%s), want %d %s at %q", p.status, p.code(), at, p.body, status, code, path)
	}
}
