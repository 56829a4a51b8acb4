package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/heddle-run/heddle/shared/frames"
)

// scripted is a socket of a runner that does what the case says.
type scripted struct {
	line[frames.ToClient]
	key   string
	terms frames.Terms
	id    string // of the runner, once it is welcomed
	seen  int64  // lastEventIdx of its ToClientInit

	event   int64  // index of the next one
	last    *int64 // index of the last command
	request uint64 // id of the last one

	quiet chan struct{} // closed: no more pings
	once  sync.Once
}

// pingEvery is how often runners ping.
const pingEvery = 3 * time.Second

// query is that of the URL of a runner.
func (p *probe) query(key string) url.Values {
	return url.Values{
		frames.QueryVersion: {strconv.Itoa(frames.ProtocolVersion)}, frames.QueryPool: {p.pool}, frames.QueryKey: {key}, frames.QueryEncoding: {p.options.Encoding.String()},
	}
}

// dial opens a socket; where it is refused before there is one, status is the answer's.
func (p *probe) dial(address string, q url.Values, o *websocket.DialOptions) (r *scripted, status int) {
	o.HTTPClient = p.options.HTTP
	conn, response, err := websocket.Dial(p.ctx, address+"?"+q.Encode(), o) //nolint:bodyclose // the library has read it
	if err != nil {
		p.check(response != nil && response.StatusCode != http.StatusSwitchingProtocols, "no socket is opened: %v", err)
		return nil, response.StatusCode
	}
	conn.SetReadLimit(-1)
	r = &scripted{quiet: make(chan struct{}), line: line[frames.ToClient]{
		judge: &p.judged, conn: conn, encoding: p.options.Encoding, in: make(chan frames.ToClient, mostWaiting), decode: frames.DecodeToClient, pulse: routine,
	}}
	p.sockets = append(p.sockets, r)
	go r.read()
	return r, 0
}

func ponged(f frames.ToClient) bool { _, is := f.(*frames.ToClientPong); return is }

// routine is what comes at any time: answers to pings, and acknowledgements, unless the case is about them.
func routine(f frames.ToClient) bool {
	_, ack := f.(*frames.ToClientAckEvents)
	return ack || ponged(f)
}

// open opens a socket as a runner does.
func (p *probe) open(key string) *scripted { return p.openAt(p.options.URLs[0], key) }

func (p *probe) openAt(address, key string) *scripted {
	r, status := p.dial(address, p.query(key), p.bearing(p.options.Token))
	p.check(r != nil, "the socket is refused with %d", status)
	r.key = key
	return r
}

// bearing are the options of a socket with a token.
func (p *probe) bearing(token string) *websocket.DialOptions {
	o := &websocket.DialOptions{Subprotocols: []string{frames.Subprotocol}, HTTPHeader: http.Header{}}
	if token != "" {
		o.HTTPHeader.Set("Authorization", "Bearer "+token)
	}
	return o
}

// initial is the first frame of a runner.
func initial(slots uint32) *frames.ToServerInit {
	return &frames.ToServerInit{Name: "scripted", Version: 1, TotalSlots: slots, Instance: "one"}
}

// connect connects a runner that pings.
func (p *probe) connect(key string, slots uint32) *scripted {
	r := p.open(key)
	r.greet(initial(slots))
	r.ping()
	return r
}

// again connects the runner of a socket that has ended, which remembers its last command.
func (p *probe) again(before *scripted) *scripted {
	before.hush()
	r := p.open(before.key)
	f := initial(9)
	f.LastCommandIdx = before.last
	r.last, r.event = before.last, before.event
	r.greet(f)
	r.ping()
	return r
}

// greet says the first frame and takes the answer.
func (r *scripted) greet(f *frames.ToServerInit) {
	r.send(f)
	answer := want[*frames.ToClientInit](r)
	r.id, r.seen, r.terms = answer.RunnerID, answer.LastEventIdx, answer.Metadata
}

func (r *scripted) threshold() time.Duration {
	return time.Duration(r.terms.RunnerLostThreshold) * time.Millisecond
}

func (r *scripted) silence() time.Duration {
	return time.Duration(r.terms.PingTimeout) * time.Millisecond
}

// send writes a frame.
func (r *scripted) send(f frames.ToServer) { r.write(frames.EncodeToServer(r.encoding, f)) }

// ping has the runner ping until hush.
func (r *scripted) ping() {
	go func() {
		for {
			select {
			case <-r.quiet:
				return
			case <-time.After(pingEvery):
			}
			if r.put(frames.EncodeToServer(r.encoding, &frames.ToServerPing{Ts: time.Now().UnixMilli()})) != nil {
				return // the socket has ended
			}
		}
	}()
}

func (r *scripted) hush() { r.once.Do(func() { close(r.quiet) }) }

// lose breaks the connection.
func (r *scripted) lose() {
	r.hush()
	r.drop()
}

// alive ends the case unless the next frame is the answer to a ping.
func (r *scripted) alive() {
	const ts = 77
	r.send(&frames.ToServerPing{Ts: ts})
	timeout := time.After(patience)
	for {
		select {
		case f := <-r.in:
			r.judge.check(f != nil && r.pulse(f), "got %T, want a pong; closed with %+v", f, r.closed())
			if pong, is := f.(*frames.ToClientPong); is && pong.Ts == ts {
				return
			}
		case <-timeout:
			r.judge.fail("a ping is not answered")
		}
	}
}

// closes ends the case unless the server closes the socket so, and says nothing before.
func (r *scripted) closes(want frames.Close) {
	f := r.frame(patience + r.silence())
	r.judge.check(f == nil, "got %T, want the close %s", f, want.Reason)
	r.judge.check(r.closed() == want, "the socket is closed with %+v, want %+v", r.closed(), want)
}

// commands are those of the next frame.
func (r *scripted) commands() []frames.Command { return r.within(patience) }

func (r *scripted) within(limit time.Duration) []frames.Command {
	f := r.frame(limit)
	all, is := f.(*frames.ToClientCommands)
	r.judge.check(is && len(all.Commands) > 0, "got %T, want commands; closed with %+v", f, r.closed())
	r.last = &all.Commands[len(all.Commands)-1].Index
	return all.Commands
}

// take is the start of the one attempt that comes next.
func (r *scripted) take() *frames.StartTask { return r.takes(patience) }

// begun has the runner a run the first attempt; its pool knows that.
func (p *probe) begun(slots uint32) (r *scripted, token string) {
	r = p.connect("a", slots)
	p.start("1")
	token = r.take().Token
	r.report(running(token))
	r.acked(0)
	return r, token
}

func (r *scripted) takes(limit time.Duration) *frames.StartTask {
	all := r.within(limit)
	start, is := all[0].Inner.(*frames.StartTask)
	r.judge.check(is && len(all) == 1, "got %d commands with a %T, want one start", len(all), all[0].Inner)
	return start
}

// told ends the case unless the next command has an attempt stop, for a reason.
func (r *scripted) told(token string, reason frames.StopReason) {
	all := r.commands()
	stop, is := all[0].Inner.(*frames.StopTask)
	r.judge.check(is && len(all) == 1 && stop.Token == token && stop.Reason == reason, "got %d commands with %+v, want that %s stops: %s", len(all), all[0].Inner, token, reason)
}

// report sends reports as the events that are next, in one frame.
func (r *scripted) report(all ...frames.Report) {
	f := &frames.ToServerEvents{}
	for _, one := range all {
		f.Events = append(f.Events, frames.Event{Index: r.event, Inner: one})
		r.event++
	}
	r.send(f)
}

func running(token string) frames.Report {
	return &frames.TaskState{Token: token, State: frames.StateRunning}
}

func succeeded(token, result string) frames.Report {
	return &frames.TaskState{Token: token, State: frames.StateStopped, OK: true, Result: json.RawMessage(strconv.Quote(result))}
}

func failed(token, typ string) frames.Report {
	return &frames.TaskState{Token: token, State: frames.StateStopped, Error: &frames.TaskError{Type: typ, Message: "the case says so"}}
}

// nothing is a report that changes nothing: of an attempt that nobody knows.
func nothing() frames.Report { return &frames.Heartbeat{Token: "nobody"} }

// acked ends the case unless the next frame acknowledges events up to one. From now on they are no routine.
func (r *scripted) acked(last int64) {
	r.pulse = ponged
	if f := want[*frames.ToClientAckEvents](r); f.LastEventIdx != last {
		r.judge.fail("events up to %d are acknowledged, want %d", f.LastEventIdx, last)
	}
}

// getsCommands takes the commands that come next, which must have the indexes wanted, as "[0 1]".
func (r *scripted) getsCommands(want string) {
	all := r.commands()
	n := make([]int64, len(all))
	for i := range all {
		n[i] = all[i].Index
	}
	r.judge.check(fmt.Sprint(n) == want, "the commands are %d, want %s", n, want)
}
