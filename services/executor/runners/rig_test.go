package runners_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/broker/brokertest"
	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/services/executor/runners"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// tokenKey is the deployment's secret in tests; executors never see it.
var tokenKey = events.Key("runners' secret in tests")

// rig is an executor's server with its clients, and the pools that it talks to, which the test plays.
type rig struct {
	*brokertest.Cluster
	t       *testing.T
	server  *runners.Server
	network *broker.Network
	http    *http.Server

	producer *kgo.Client
	inbox    *kgo.Client
	reports  []report
	messages []message
}

// report is what a pool was told, and message a workflow.
type report struct {
	pool string
	*events.RunnerReport
}

type message struct {
	workflow string
	events.InboxMessage
}

// in runs fn with a rig in a bubble of virtual time.
func in(t *testing.T, fn func(t *testing.T, r *rig), change ...func(*runners.Config)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, brokertest.StartInBubble(t, topics.Options{}), change...)
		fn(t, r)
	})
}

func newRig(t *testing.T, c *brokertest.Cluster, change ...func(*runners.Config)) *rig {
	t.Helper()
	r := &rig{Cluster: c, t: t, network: new(broker.Network)}
	var err error
	if r.producer, err = kafka.NewEffectsProducer(c.Config); err != nil {
		t.Fatal(err)
	}
	if r.inbox, err = kafka.NewTail(c.Config, kafka.FromStart, c.Topics.Inbox()); err != nil {
		t.Fatal(err)
	}
	config := runners.Config{Kafka: c.Config}
	if os.Getenv("RUNNERS_LOG") != "" {
		config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	for _, f := range change {
		f(&config)
	}
	if r.server, err = runners.Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	ln, err := r.network.Listen("tcp", "localhost:80")
	if err != nil {
		t.Fatal(err)
	}
	r.http = &http.Server{Handler: r.server}
	go func() {
		if err := r.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serving: %v", err)
		}
	}()
	t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	r.t.Helper()
	if err := errors.Join(r.server.Close(), r.http.Close()); err != nil {
		r.t.Error(err)
	}
	r.Close(r.producer)
	r.Close(r.inbox)
}

// poll reads the inbox for a while, or until something has come.
func (r *rig) poll(d time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	r.inbox.PollFetches(ctx).EachRecord(func(k *kgo.Record) {
		if err := kafka.CheckFormat(k, events.InboxVersion); err != nil || len(k.Headers) == 0 {
			r.t.Fatalf("a record of the inbox has the headers %v: %v", k.Headers, err)
		}
		m, err := events.DecodeInbox(k.Value)
		if err != nil {
			r.t.Fatal(err)
		}
		if m, is := m.(*events.RunnerReport); is {
			r.reports = append(r.reports, report{string(k.Key), m})
			return
		}
		token, err := tokenKey.Open(m.AttemptToken())
		if err != nil || token.Workflow != string(k.Key) {
			r.t.Fatalf("a message under the key %q has the token of %q: %v", k.Key, token.Workflow, err)
		}
		r.messages = append(r.messages, message{string(k.Key), m})
	})
}

// patience is how long a test waits for what should come.
const patience = time.Minute

// reportOf is the next report that is wanted; others are passed.
func (r *rig) reportOf(what string, wanted func(report) bool) report {
	r.t.Helper()
	for end := time.Now().Add(patience); ; r.poll(time.Until(end)) {
		for len(r.reports) > 0 {
			m := r.reports[0]
			r.reports = r.reports[1:]
			if wanted(m) {
				return m
			}
		}
		if !time.Now().Before(end) {
			r.t.Fatalf("no pool hears that %s", what)
		}
	}
}

// hello is the next greeting.
func (r *rig) hello() report {
	r.t.Helper()
	return r.reportOf("there is a runner", func(m report) bool { return m.Hello != nil })
}

// told is the next report with events.
func (r *rig) told() report {
	r.t.Helper()
	return r.reportOf("something became of a task", func(m report) bool { return len(m.Events) > 0 })
}

// gone is the next report of a socket that is no more.
func (r *rig) gone() report {
	r.t.Helper()
	return r.reportOf("a socket is gone", func(m report) bool { return m.Closed != "" })
}

// message is the next message to a workflow.
func (r *rig) message() message {
	r.t.Helper()
	for end := time.Now().Add(patience); len(r.messages) == 0; r.poll(time.Until(end)) {
		if !time.Now().Before(end) {
			r.t.Fatal("no workflow hears anything")
		}
	}
	m := r.messages[0]
	r.messages = r.messages[1:]
	return m
}

// quiet fails if something is reported within a while that nobody has asked for: presence is no news.
func (r *rig) quiet(d time.Duration) {
	r.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		r.poll(time.Until(end))
	}
	for _, m := range r.reports {
		if m.Runner != "" || m.Hello != nil {
			r.t.Fatalf("a pool hears %+v", m.RunnerReport)
		}
	}
	if len(r.messages) > 0 {
		r.t.Fatalf("a workflow hears %+v", r.messages[0])
	}
}

// command has the executor do something, as a pool would.
func (r *rig) command(m *events.RunnerCommands) {
	r.t.Helper()
	record := kafka.Keyed(r.Topics.RunnerCommands(), []byte(m.Runner), wire.Marshal(m), kafka.RunnerFormat...)
	if err := r.producer.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// threshold is what the pool says in tests, in ms.
const threshold = 15_000

// welcome answers a greeting.
func (r *rig) welcome(m report, seen uint64, all ...events.RunnerCommand) {
	r.t.Helper()
	r.command(&events.RunnerCommands{To: m.Connection, Pool: m.pool, Runner: "images.1.1", Welcome: &events.RunnerWelcome{Session: 1, Events: seen, Threshold: threshold}, Commands: all})
}

// token is that of an attempt of a workflow.
func token(workflow string) []byte {
	return tokenKey.Seal(events.Token{Workflow: workflow, Run: events.RunID{Epoch: 1, Seq: 1}, Runnable: 1, Attempt: 1, Decided: events.Position{Epoch: 1, Seq: 1}})
}

func text(workflow string) string { return events.TokenText(token(workflow)) }

// start is a command that starts an attempt of a workflow.
func start(index uint64, workflow string) events.RunnerCommand {
	task := &events.Task{Token: token(workflow), Task: "thumb", Component: "c", Attempt: 1, Input: json.RawMessage(`{ "a":1}`), IdempotencyKey: workflow + "/1"}
	return events.RunnerCommand{Index: index, Token: task.Token, Start: wire.Marshal(task)}
}

// runner is the client's side of a socket.
type runner struct {
	t        *testing.T
	conn     *websocket.Conn
	encoding frames.Encoding
}

const query = "protocol_version=1&pool=images&runner_key=k1"

// dial opens a socket.
func (r *rig) dial(query string, o ...func(*websocket.DialOptions)) *runner {
	r.t.Helper()
	c, _, err := r.tryDial(query, o...)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) tryDial(query string, o ...func(*websocket.DialOptions)) (*runner, *http.Response, error) {
	r.t.Helper()
	transport := &http.Transport{DialContext: r.network.DialContext, DisableKeepAlives: true}
	options := &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}}
	for _, f := range o {
		f(options)
	}
	conn, response, err := websocket.Dial(context.Background(), "ws://localhost:80"+frames.Path+"?"+query, options)
	if err != nil {
		return nil, response, err
	}
	conn.SetReadLimit(8 << 20)
	c := &runner{t: r.t, conn: conn}
	if v, err := url.ParseQuery(query); err == nil && v.Get(frames.QueryEncoding) == "binary" {
		c.encoding = frames.Binary
	}
	r.t.Cleanup(func() { _ = conn.CloseNow() }) // it may be closed already
	return c, response, nil
}

// connect opens a socket and has it served by its pool.
func (r *rig) connect() *runner {
	r.t.Helper()
	c := r.dial(query)
	c.send(initial())
	r.welcome(r.hello(), 0)
	c.init()
	return c
}

func initial() *frames.ToServerInit {
	return &frames.ToServerInit{Name: "ann", Version: 3, TotalSlots: 2}
}

func (c *runner) send(f frames.ToServer) {
	c.t.Helper()
	c.write(frames.EncodeToServer(c.encoding, f))
}

func (c *runner) write(b []byte) {
	c.t.Helper()
	kind := websocket.MessageText
	if c.encoding == frames.Binary {
		kind = websocket.MessageBinary
	}
	if err := c.conn.Write(context.Background(), kind, b); err != nil {
		c.t.Fatalf("writing: %v", err)
	}
}

// next is the next frame, or why there is none within d.
func (c *runner) next(d time.Duration) (frames.ToClient, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	_, b, err := c.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	return frames.DecodeToClient(c.encoding, b)
}

// frame is the next frame, which is an F.
func frame[F frames.ToClient](c *runner) F {
	c.t.Helper()
	f, err := c.next(patience)
	if err != nil {
		c.t.Fatalf("instead of a frame: %v", err)
	}
	want, is := f.(F)
	if !is {
		c.t.Fatalf("the frame is %T %+v, want %T", f, f, want)
	}
	return want
}

func (c *runner) init() *frames.ToClientInit {
	c.t.Helper()
	return frame[*frames.ToClientInit](c)
}

// closed is how the server closes the socket; no frame comes before.
func (c *runner) closed(want frames.Close) {
	c.t.Helper()
	f, err := c.next(patience)
	var how websocket.CloseError
	if !errors.As(err, &how) {
		c.t.Fatalf("instead of the end of the socket: %T %v, %v", f, f, err)
	}
	if got := (frames.Close{Code: int(how.Code), Reason: how.Reason}); got != want {
		c.t.Fatalf("closed with %v, want %v", got, want)
	}
}

// alive holds that the socket is served.
func (c *runner) alive() {
	c.t.Helper()
	c.send(&frames.ToServerPing{Ts: 77})
	if f := frame[*frames.ToClientPong](c); f.Ts != 77 {
		c.t.Fatalf("the pong is of %d", f.Ts)
	}
}

// drop breaks the connection.
func (c *runner) drop() { _ = c.conn.CloseNow() } // it may be closed already

// state is an event.
func state(index int64, workflow string, s frames.State, e *frames.TaskError) frames.Event {
	r := &frames.TaskState{Token: text(workflow), State: s, Error: e}
	if s == frames.StateStopped && e == nil {
		r.OK, r.Result = true, json.RawMessage(`{ "n":1}`)
	}
	return frames.Event{Index: index, Inner: r}
}

func (c *runner) events(all ...frames.Event) {
	c.t.Helper()
	c.send(&frames.ToServerEvents{Events: all})
}

// counted holds that a metric has a value.
func counted(t *testing.T, text, metric string, want string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(line, " "); ok && name == metric {
			if value != want {
				t.Errorf("%s is %s, want %s", metric, value, want)
			}
			return
		}
	}
	t.Errorf("there is no %s", metric)
}
