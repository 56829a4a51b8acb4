package conformance

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/frames"
)

func counting() []one[*probe] {
	return []one[*probe]{
		{"E02", "of events that come again, only the new ones count", se02},
		{"E03", "events that were seen change nothing, and are not acknowledged", se03},
		{"E04", "many events are acknowledged once 501 have counted", se04},
		{"E05", "a few events are acknowledged within a second", se05},
		{"E06", "ToClientInit says which event was the last that counted", se06},
		{"E08", "an event of an attempt that is over is dropped", se08},
		{"E10", "an end that is told after a reconnect ends the attempt", se10},
		{"E11", "events with a gap close the socket, and do not count", se11},
		{"K05", "a request for keys that is beyond a limit is answered with an error", sk05},
		{"K06", "a frame that is larger than maxPayload closes the socket", sk06},
	}
}

func se02(p *probe) {
	r := p.connect("a", 1)
	r.pulse = ponged
	p.start("1")
	token := r.take().Token
	r.report(running(token), nothing(), nothing(), nothing(), nothing())
	r.acked(4)
	r.event = 3
	r.report(succeeded(token, "old"), succeeded(token, "old"), succeeded(token, "new"), nothing())
	r.acked(6)
	p.result(p.started[0], "new")
	r.lose()
	p.is("a", lost)
	r = p.again(r)
	p.check(r.seen == 6, "lastEventIdx is %d, want 6", r.seen)
}

func se03(p *probe) {
	r := p.connect("a", 1)
	r.report(nothing(), nothing())
	r.acked(1)
	r.event = 0
	r.report(nothing(), nothing())
	r.silent(2 * time.Second)
	r.alive()
}

func se04(p *probe) {
	r := p.connect("a", 1)
	for range 500 {
		r.report(nothing())
	}
	r.report(nothing())
	r.acked(500)
	r.silent(2 * time.Second)
}

func se05(p *probe) {
	r := p.connect("a", 1)
	for range 10 {
		r.report(nothing())
	}
	began := time.Now()
	r.acked(9)
	took := time.Since(began)
	p.check(took <= time.Second+slack, "they are acknowledged after %v", took)
	r.silent(2 * time.Second)
}

func se06(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	r.report(running(token), nothing())
	r.acked(1)
	r.lose()
	p.is("a", lost)
	r = p.again(r)
	p.check(r.seen == 1, "lastEventIdx is %d, want 1", r.seen)
	r.event = 1
	r.report(nothing(), succeeded(token, "done"))
	p.result(p.started[0], "done")
}

func se08(p *probe) {
	r := p.connect("a", 1)
	p.start("1", map[string]any{"match": "default", "max_retries": 1, "inherit": true})
	first := r.take().Token
	r.report(running(first), failed(first, "once"))
	second := r.take()
	p.check(second.Attempt == 2 && second.Token != first, "then comes %+v", second)
	r.report(running(second.Token), succeeded(first, "stale"))
	r.pulse = ponged
	r.acked(3)
	got := p.is("a", connected)
	p.check(got.Used == 1, "the slots in use are %d, want 1", got.Used)
	r.report(succeeded(second.Token, "done"))
	p.result(p.started[0], "done")
}

func se10(p *probe) {
	r, token := p.begun(1)
	r.lose()
	p.is("a", lost)
	r = p.again(r)
	r.report(succeeded(token, "meanwhile"))
	p.result(p.started[0], "meanwhile")
	p.until("a", "free", patience, func(r *client.Runner) bool { return r.Used == 0 && r.State == connected })
}

func se11(p *probe) {
	r, token := p.begun(1)
	r.event++
	r.report(succeeded(token, "beyond the gap"))
	r.closes(frames.CloseInvalidPacket)
	p.is("a", lost)
	r.event = 1
	r = p.again(r)
	p.check(r.seen == 0, "lastEventIdx is %d, want 0", r.seen)
	r.report(succeeded(token, "done"))
	p.result(p.started[0], "done")
}

func sk05(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	r.report(running(token))
	l := r.terms.Limits
	keys := make([]string, l.MaxKvKeys+1)
	for i := range keys {
		keys[i] = "k"
	}
	for i, test := range []struct {
		inner frames.KvRequest
		code  string
	}{
		{&frames.KvGet{Keys: keys}, frames.KvTooManyKeys},
		{&frames.KvDelete{Keys: []string{strings.Repeat("k", int(l.MaxKvKey)+1)}}, frames.KvKeyLength},
		{&frames.KvPut{Entries: []frames.KvEntry{{Key: "k", Value: json.RawMessage(`"` + strings.Repeat("x", int(l.MaxKvValue)-1) + `"`)}}}, frames.KvValueTooLarge},
	} {
		r.send(&frames.ToServerKvRequest{RequestID: uint64(i), Token: token, Inner: test.inner})
		a := want[*frames.ToClientKvResponse](r)
		p.check(a.RequestID == uint64(i) && a.Error != nil && a.Error.Code == test.code, "the answer is %+v, want %s", a, test.code)
	}
}

func sk06(p *probe) {
	r, token := p.begun(1)
	r.hush()
	large := frames.EncodeToServer(r.encoding, &frames.ToServerEvents{Events: []frames.Event{{Index: 1, Inner: succeeded(token, strings.Repeat("x", int(r.terms.Limits.MaxPayload)))}}})
	go func() { _ = r.put(large) }() // it is closed meanwhile
	r.closes(frames.CloseInvalidPacket)
	p.is("a", lost)
	r = p.again(r)
	r.report(succeeded(token, "small"))
	p.result(p.started[0], "small")
}
