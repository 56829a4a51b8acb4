package runner_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/heddle-run/heddle/internal/runner"
	"github.com/heddle-run/heddle/shared/frames"
)

const slots = 3

// model is a server and a shell around a session, with what must be true of it.
type model struct {
	*runner.Session
	now time.Time

	socket   bool // there is one, open or wanted
	open     bool
	welcomed bool
	over     error
	isOver   bool

	// The server.
	id       int
	applied  int64            // index of the last event
	commands []frames.Command // of the session, all
	received int64            // of the commands, as acknowledged
	states   map[string][]frames.State
	answered map[uint64]bool // requests for keys, sent
	tokens   int

	// The shell.
	running  []string          // begun, in order
	halted   map[string]bool   // of those
	ended    map[string]string // how functions have ended: the runner's id of that time
	started  map[string]int
	requests map[uint64]int // answers
	unsent   []string       // tokens that the server has counted as lost with a session
}

func newModel() *model {
	m := &model{
		now: time.Unix(1_000_000, 0), applied: -1, received: -1, states: map[string][]frames.State{}, answered: map[uint64]bool{},
		halted: map[string]bool{}, ended: map[string]string{}, started: map[string]int{}, requests: map[uint64]int{},
		Session: runner.New(runner.Config{Init: frames.ToServerInit{Name: "n", TotalSlots: slots}, Random: func() float64 { return 0.5 }}),
	}
	m.Begin(m.now)
	return m
}

// settle does what the session wants, as a shell and a server do.
func (m *model) settle(t *rapid.T) {
	for actions := m.Take(); len(actions) > 0; actions = m.Take() {
		for _, a := range actions {
			if m.isOver {
				t.Fatalf("%T comes after the end", a)
			}
			m.perform(t, a)
		}
	}
	if len(m.running) > slots {
		t.Fatalf("%d attempts run in %d slots", len(m.running), slots)
	}
}

func (m *model) perform(t *rapid.T, a runner.Action) {
	switch a := a.(type) {
	case runner.Dial:
		if m.socket {
			t.Fatal("a second socket is wanted")
		}
		m.socket = true
	case runner.Hangup:
		if !m.socket {
			t.Fatal("a socket is closed that is none")
		}
		m.socket, m.open, m.welcomed = false, false, false
	case runner.Send:
		m.serve(t, a.Frame)
	case runner.Start:
		if m.started[a.Task.Token]++; m.started[a.Task.Token] > 1 {
			t.Fatalf("%s is started twice", a.Task.Token)
		}
		m.running = append(m.running, a.Task.Token)
	case runner.Halt:
		if !slices.Contains(m.running, a.Token) || m.halted[a.Token] {
			t.Fatalf("%s is halted and does not run, or was halted before", a.Token)
		}
		m.halted[a.Token] = true
	case runner.Leave:
		if !slices.Contains(m.running, a.Token) || m.halted[a.Token] {
			t.Fatalf("%s is told to leave and does not run, or was halted before", a.Token)
		}
	case runner.Answer:
		if m.requests[a.Request]++; m.requests[a.Request] > 1 || (a.Response == nil) == (a.Err == nil) {
			t.Fatalf("request %d is answered %d times: %+v", a.Request, m.requests[a.Request], a)
		}
	case runner.Over:
		m.isOver, m.over = true, a.Err
	}
}

// serve is the server's side of a frame.
func (m *model) serve(t *rapid.T, f frames.ToServer) {
	init, first := f.(*frames.ToServerInit)
	switch {
	case !m.open:
		t.Fatalf("%T is sent without a socket", f)
	case first == m.welcomed:
		t.Fatalf("%T comes at the wrong time", f)
	}
	switch f := f.(type) {
	case *frames.ToServerInit:
		if init.LastCommandIdx != nil {
			m.received = max(m.received, *init.LastCommandIdx)
		}
	case *frames.ToServerAckCommands:
		m.received = max(m.received, f.LastCommandIdx)
		if m.received >= int64(len(m.commands)) {
			t.Fatalf("command %d is acknowledged and was not sent", m.received)
		}
	case *frames.ToServerEvents:
		for _, e := range f.Events {
			m.apply(t, e)
		}
	case *frames.ToServerKvRequest:
		if m.answered[f.RequestID] {
			t.Fatalf("request %d is sent twice", f.RequestID)
		}
		m.answered[f.RequestID] = true
	}
}

func (m *model) apply(t *rapid.T, e frames.Event) {
	if e.Index <= m.applied {
		return
	}
	if e.Index != m.applied+1 {
		t.Fatalf("event %d comes after %d", e.Index, m.applied)
	}
	m.applied = e.Index
	s, ok := e.Inner.(*frames.TaskState)
	if !ok {
		return
	}
	m.states[s.Token] = append(m.states[s.Token], s.State)
}

// welcome is ToClientInit, behind which the server repeats what is not acknowledged.
func (m *model) welcome(t *rapid.T, anew bool) {
	if anew {
		m.id++
		m.applied, m.received, m.commands = -1, -1, nil
		for token := range m.started { // order: each is noted once
			m.unsent = append(m.unsent, token)
		}
	}
	m.welcomed = true
	m.Received(m.now, &frames.ToClientInit{RunnerID: fmt.Sprint("r", m.id), LastEventIdx: m.applied})
	m.settle(t)
	from := m.received + 1
	if !anew && rapid.Bool().Draw(t, "forgets") { // what it knew of acknowledgements
		from = rapid.Int64Range(0, from).Draw(t, "from")
	}
	if rest := m.commands[from:]; m.welcomed && len(rest) > 0 {
		m.Received(m.now, &frames.ToClientCommands{Commands: rest})
		m.settle(t)
	}
}

func (m *model) command(t *rapid.T, o frames.Order) {
	m.commands = append(m.commands, frames.Command{Index: int64(len(m.commands)), Inner: o})
	if m.welcomed {
		m.Received(m.now, &frames.ToClientCommands{Commands: m.commands[len(m.commands)-1:]})
		m.settle(t)
	}
}

func (m *model) drop(t *rapid.T) {
	m.socket, m.open, m.welcomed = false, false, false
	m.Broken(m.now, frames.Close{})
	m.settle(t)
}

func (m *model) wait(t *rapid.T, d time.Duration) {
	for end := m.now.Add(d); ; {
		next := m.Next()
		if next.IsZero() || next.After(end) {
			m.now = end
			return
		}
		if next.After(m.now) {
			m.now = next
		}
		m.Wake(m.now)
		m.settle(t)
		if again := m.Next(); !again.IsZero() && !again.After(m.now) {
			t.Fatalf("what was due at %v is due again at %v", next, again)
		}
	}
}

func (m *model) finish(t *rapid.T, token string) {
	m.running = slices.DeleteFunc(m.running, func(s string) bool { return s == token })
	m.ended[token] = fmt.Sprint("r", m.id)
	m.Ended(m.now, &frames.TaskState{Token: token, State: frames.StateStopped, OK: true})
	m.settle(t)
}

// ops are what may happen.
func (m *model) ops() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"connect": func(t *rapid.T) {
			for range 10 {
				if m.socket {
					break
				}
				m.wait(t, 10*time.Second)
			}
			if m.socket && !m.open {
				m.open = true
				m.Opened(m.now)
				m.settle(t)
				m.welcome(t, rapid.IntRange(0, 9).Draw(t, "anew") == 0)
			}
		},
		"open": func(t *rapid.T) {
			if m.socket && !m.open {
				m.open = true
				m.Opened(m.now)
				m.settle(t)
			}
		},
		"welcome": func(t *rapid.T) {
			if m.open && !m.welcomed {
				m.welcome(t, rapid.IntRange(0, 4).Draw(t, "anew") == 0)
			}
		},
		"drop": func(t *rapid.T) {
			if m.socket {
				m.drop(t)
			}
		},
		"start": func(t *rapid.T) {
			m.tokens++
			m.command(t, &frames.StartTask{Token: fmt.Sprint("t", m.tokens)})
		},
		"stop": func(t *rapid.T) {
			m.command(t, &frames.StopTask{Token: fmt.Sprint("t", rapid.IntRange(1, m.tokens+1).Draw(t, "token")), Reason: rapid.SampledFrom([]frames.StopReason{frames.StopCancelled, frames.StopGoingAway}).Draw(t, "reason")})
		},
		"end": func(t *rapid.T) {
			if len(m.running) > 0 {
				m.finish(t, rapid.SampledFrom(m.running).Draw(t, "token"))
			}
		},
		"beat": func(t *rapid.T) {
			if len(m.running) > 0 {
				m.Beat(m.now, rapid.SampledFrom(m.running).Draw(t, "token"), []byte("1"))
				m.settle(t)
			}
		},
		"ack": func(t *rapid.T) {
			if m.welcomed && m.applied >= 0 {
				m.Received(m.now, &frames.ToClientAckEvents{LastEventIdx: rapid.Int64Range(0, m.applied).Draw(t, "index")})
				m.settle(t)
			}
		},
		"ask": func(t *rapid.T) {
			id := m.Request(m.now, "t1", &frames.KvGet{})
			if m.requests[id] == 0 {
				m.requests[id] = 0
			}
			m.settle(t)
		},
		"answer": func(t *rapid.T) {
			if m.welcomed {
				m.Received(m.now, &frames.ToClientKvResponse{RequestID: rapid.Uint64Range(0, 5).Draw(t, "request")})
				m.settle(t)
			}
		},
		"wait": func(t *rapid.T) { m.wait(t, time.Duration(rapid.IntRange(0, 20_000).Draw(t, "ms"))*time.Millisecond) },
		"pong": func(t *rapid.T) {
			if m.welcomed {
				m.Received(m.now, &frames.ToClientPong{})
				m.wait(t, 3*time.Second)
			}
		},
	}
}

// rest lets everything come to its end: each attempt ends, and a server that stays hears of all.
func (m *model) rest(t *rapid.T) {
	for range 20 {
		m.wait(t, time.Minute)
		if m.socket && !m.open {
			m.open = true
			m.Opened(m.now)
			m.settle(t)
			m.welcome(t, false)
		} else if m.open && !m.welcomed {
			m.welcome(t, false)
		}
		for len(m.running) > 0 && m.welcomed {
			m.finish(t, m.running[0])
		}
		if m.welcomed {
			break
		}
	}
	if !m.welcomed {
		t.Fatal("the runner does not come back")
	}
}
