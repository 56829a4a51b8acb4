package conformance

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

func accepting() []one[*probe] {
	return []one[*probe]{
		{"C01", "ToServerInit is answered by one ToClientInit, and the runner is connected", sc01},
		{"C02", "a socket that says nothing is closed after 5 s, and there is no runner", sc02},
		{"C03", "another first frame than ToServerInit closes the socket", sc03},
		{"C04", "a first frame that cannot be read closes the socket", sc04},
		{"C05", "a URL with a parameter that is missing or wrong is closed", sc05},
		{"C09", "names of tasks are listed before one ran, and the next ToServerInit changes them", sc09},
		{"C10", "a second ToServerInit is passed", sc10},
		{"C11", "a frame that cannot be read is passed", sc11},
		{"C12", "slots and version are those of the first socket of a runner", sc12},
		{"C13", "a plain GET is answered with a line of text", sc13},
		{"T01", "a wrong token is refused before there is a socket, and a sub-protocol may have it", st01},
		{"P01", "a runner that pings is served on", sp01},
		{"P03", "a runner that says nothing gets no work after 10 s, and is closed after pingTimeout", sp03},
	}
}

func sc01(p *probe) {
	p.connect("large", frames.MaxSlots)
	r := p.connect("a", 2)
	p.check(r.id != "" && r.seen == -1, "the runner's ID is %q, lastEventIdx is %d", r.id, r.seen)
	l := r.terms.Limits
	p.check(r.threshold() > 0 && r.silence() > 0 && l.MaxPayload > 0 && l.MaxKvKeys > 0 && l.MaxKvKey > 0 && l.MaxKvValue > 0 && l.MaxTunnelBody > 0, "the terms are %+v", r.terms)
	r.silent(time.Second)
	got := p.is("a", connected)
	p.check(got.ID == r.id && got.Slots == 2 && got.Used == 0 && got.Version == 1 && got.Name == "scripted", "the runner is %+v", got)
}

func sc02(p *probe) {
	const limit = 5 * time.Second
	r, began := p.open("a"), time.Now()
	r.closes(frames.CloseInitTimeout)
	took := time.Since(began)
	p.check(took >= limit*95/100 && took <= limit+slack, "the socket is closed after %v, want %v", took, limit)
	p.nobody()
}

// nobody ends the case if the pool has anything.
func (p *probe) nobody() {
	found, err := p.options.API.Pool(p.ctx, p.pool, client.PoolOptions{})
	p.check(errors.Is(err, client.ErrNotFound), "the pool is %+v, %v; want that there is none", found, err)
}

func sc03(p *probe) {
	for _, f := range []frames.ToServer{&frames.ToServerPing{Ts: 1}, &frames.ToServerEvents{}, &frames.ToServerAckCommands{}, &frames.ToServerStopping{}} {
		r := p.open("a")
		r.send(f)
		r.closes(frames.CloseInvalidInitialPacket)
	}
	p.nobody()
}

func sc04(p *probe) {
	good := frames.EncodeToServer(p.options.Encoding, initial(2))
	for _, b := range [][]byte{{}, []byte("{}"), []byte("neither"), good[:len(good)/2], frames.EncodeToServer(p.options.Encoding, initial(0)), frames.EncodeToServer(p.options.Encoding, initial(frames.MaxSlots+1))} {
		r := p.open("a")
		r.write(b)
		r.closes(frames.CloseInvalidPacket)
	}
	r := p.open("a")
	r.encoding = frames.JSON + frames.Binary - r.encoding // the other one
	r.send(initial(2))
	r.closes(frames.CloseInvalidPacket)
	p.nobody()
}

func sc05(p *probe) {
	for what, change := range map[string]func(url.Values){
		"no version":       func(q url.Values) { q.Del(frames.QueryVersion) },
		"no number":        func(q url.Values) { q.Set(frames.QueryVersion, "one") },
		"another version":  func(q url.Values) { q.Set(frames.QueryVersion, "999") },
		"no pool":          func(q url.Values) { q.Del(frames.QueryPool) },
		"a wrong pool":     func(q url.Values) { q.Set(frames.QueryPool, "a b") },
		"no key":           func(q url.Values) { q.Del(frames.QueryKey) },
		"a key too long":   func(q url.Values) { q.Set(frames.QueryKey, strings.Repeat("k", frames.MaxName+1)) },
		"another encoding": func(q url.Values) { q.Set(frames.QueryEncoding, "xml") },
	} {
		q := p.query("a")
		change(q)
		r, status := p.dial(p.options.URLs[0], q, p.bearing(p.options.Token))
		p.check(r != nil, "with %s the socket is refused with %d", what, status)
		r.closes(frames.CloseInvalidURL)
	}
	p.nobody()
}

func sc09(p *probe) {
	r := p.open("a")
	f := initial(2)
	f.PrepopulateTaskNames = []wire.Pair{{Key: "resize", Value: json.RawMessage(`{"a":1}`)}, {Key: "crop"}}
	f.Metadata = json.RawMessage(`{"zone":"b"}`)
	r.greet(f)
	got := p.is("a", connected)
	p.check(slices.Equal(got.Names, []string{"resize", "crop"}) && same(got.Metadata, f.Metadata), "the names are %q, the metadata %s", got.Names, got.Metadata)
	r.lose()
	p.is("a", lost)
	r = p.open("a")
	f.PrepopulateTaskNames, f.Metadata = f.PrepopulateTaskNames[1:], json.RawMessage(`{"zone":"c"}`)
	r.greet(f)
	got = p.is("a", connected)
	p.check(slices.Equal(got.Names, []string{"crop"}) && same(got.Metadata, f.Metadata), "then the names are %q, the metadata %s", got.Names, got.Metadata)
}

func sc10(p *probe) {
	r := p.connect("a", 2)
	f := initial(7)
	f.Instance = "another"
	r.send(f)
	r.silent(time.Second)
	got := p.is("a", connected)
	p.check(got.ID == r.id && got.Slots == 2, "the runner is %+v", got)
}

func sc11(p *probe) {
	r := p.connect("a", 2)
	for _, b := range []string{"", "{}", "neither", `{"type":"ToServerPing","ts":1,"more":2}`, `{"type":"ToServerEvents","events":[{"index":0}]}`} {
		r.write([]byte(b))
		r.alive()
	}
}

func sc12(p *probe) {
	r := p.connect("a", 2)
	first := r.id
	r.lose()
	p.is("a", lost)
	r = p.open("a")
	f := initial(7)
	f.Version = 3
	r.greet(f)
	got := p.is("a", connected)
	p.check(r.id == first && got.ID == first && got.Slots == 2 && got.Version == 1, "the runner %s is %+v, and was %s", r.id, got, first)
}

func sc13(p *probe) {
	q, err := http.NewRequestWithContext(p.ctx, http.MethodGet, "http"+strings.TrimPrefix(p.options.URLs[0], "ws"), nil)
	p.check(err == nil, "%v", err)
	hc := p.options.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	a, err := hc.Do(q)
	p.check(err == nil, "a plain GET is not answered: %v", err)
	body, err := io.ReadAll(a.Body)
	a.Body.Close()
	text := string(body)
	p.check(err == nil && a.StatusCode == http.StatusOK && strings.Count(text, "\n") == 1 && strings.HasSuffix(text, "\n"), "a plain GET is answered with %d %q, %v", a.StatusCode, text, err)
}

func st01(p *probe) {
	within := func(token string) *websocket.DialOptions {
		return &websocket.DialOptions{Subprotocols: []string{frames.Subprotocol, frames.TokenProtocol(token)}}
	}
	wrong := p.options.Token + "x"
	for _, o := range []*websocket.DialOptions{p.bearing(""), p.bearing(wrong), within(wrong)} {
		r, status := p.dial(p.options.URLs[0], p.query("a"), o)
		p.check(r == nil && status == http.StatusUnauthorized, "a wrong token is answered with %d, want 401", status)
	}
	r, status := p.dial(p.options.URLs[0], p.query("a"), within(p.options.Token))
	p.check(r != nil, "the token as a sub-protocol is answered with %d", status)
	p.check(r.conn.Subprotocol() == frames.Subprotocol, "the sub-protocol is %q", r.conn.Subprotocol())
	r.greet(initial(1))
}

func sp01(p *probe) {
	r := p.connect("a", 1)
	for end := time.Now().Add(r.silence() + pingEvery); time.Now().Before(end); p.sleep(500 * time.Millisecond) {
		got := p.is("a", connected)
		p.check(got.Passed == "", "it is passed over: %s", got.Passed)
	}
	p.start("1")
	r.take()
}

func sp03(p *probe) {
	const eligible = 10 * time.Second
	r, began := p.open("a"), time.Now()
	r.greet(initial(1))
	p.until("a", "passed over", r.silence(), func(r *client.Runner) bool { return r.Passed != "" })
	took := time.Since(began)
	p.check(took >= eligible*95/100 && took <= eligible+slack, "it is passed over after %v, want %v", took, eligible)
	p.start("1")
	other := p.connect("b", 1)
	other.take()
	r.closes(frames.ClosePingTimeout)
	took = time.Since(began)
	p.check(took >= r.silence()*95/100 && took <= r.silence()+slack, "it is closed after %v, want %v", took, r.silence())
}
