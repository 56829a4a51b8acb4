package conformance

import (
	"encoding/json"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

func keeping() []one[*trial] {
	return []one[*trial]{
		{"K01", "an attempt asks for its keys, and gets what the server answers", k01},
		{"K02", "a request for keys without an answer fails after 30 s", k02},
		{"K03", "a request for keys fails when the socket breaks, and is not sent again", k03},
		{"K05", "a refusal of a request for keys fails it with its code", k05},
	}
}

// put takes the request by which the attempt a begins.
func (p *peer) put() *frames.ToServerKvRequest {
	p.run(0, 0, "a", "keys", "null")
	request := want[*frames.ToServerKvRequest](p)
	put, ok := request.Inner.(*frames.KvPut)
	p.judge.check(ok && request.Token == "a" && len(put.Entries) == 1 && put.Entries[0].Key == "a" && string(put.Entries[0].Value) == "1", "asks %+v", request.Inner)
	return request
}

// failed takes the end of the attempt a, which has failed with a type.
func (p *peer) failed(typ string) {
	end := p.state(1, "a", frames.StateStopped)
	p.judge.check(!end.OK && end.Error.Type == typ, "it has ended as %+v, %+v, want the type %s", end, end.Error, typ)
}

func k01(t *trial) {
	p := t.begin()
	put := p.put()
	p.send(&frames.ToClientKvResponse{RequestID: put.RequestID})
	request := want[*frames.ToServerKvRequest](p)
	get, ok := request.Inner.(*frames.KvGet)
	t.check(ok && len(get.Keys) == 2 && get.Keys[0] == "a" && get.Keys[1] == "b" && request.RequestID != put.RequestID, "asks %+v", request)
	p.send(&frames.ToClientKvResponse{RequestID: request.RequestID, Entries: []frames.KvEntry{{Key: "a", Value: json.RawMessage(`{"n":2}`)}}})
	end := p.state(1, "a", frames.StateStopped)
	t.check(end.OK && same(end.Result, []byte(`{"n":2}`)), "it has ended as %+v, %+v", end, end.Error)
}

func k02(t *trial) {
	p := t.begin()
	p.put()
	asked := time.Now()
	p.failed("timeout")
	t.within("the failure", time.Since(asked)+20*time.Millisecond, 30*time.Second)
}

func k03(t *trial) {
	p := t.begin()
	p.put()
	p.drop()
	p, _ = t.accept(runnerID, 0)
	p.failed("unknown")
	p.silent(t.scaled(10 * time.Second))
}

func k05(t *trial) {
	p := t.begin()
	p.send(&frames.ToClientKvResponse{RequestID: p.put().RequestID, Error: &frames.KvError{Code: frames.KvFull, Message: "no room"}})
	p.failed(frames.KvFull)
}
