package sim

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// Times of executors: about a third of what they are by default.
const (
	initTime    = 2 * time.Second
	welcomeTime = 4 * time.Second
	silentTime  = 5 * time.Second
	pingTime    = 7 * time.Second
	ackTime     = 400 * time.Millisecond
	presentTime = 2400 * time.Millisecond
)

// executor is a model of an executor that has sockets of runners (package runners): it has no goroutine of its own, the
// scheduler moves it. What frames and commands mean the real one's code says.
type executor struct {
	g      *pooling
	slot   int
	name   string
	at     map[int32]int64 // read so far of the commands, by partition
	unread map[int32]bool  // partitions in which there is something for it behind that
	last   uint64          // number of a socket
	frozen bool
	dead   bool

	sockets []*socket // until their pools know that they are gone
	said    time.Time // that it is there
	sent    []*op     // that may not have left
}

func (g *pooling) startExecutor(slot int) {
	x := &executor{g: g, slot: slot, name: g.started("x"), at: map[int32]int64{}, unread: map[int32]bool{}, said: time.Now()}
	c := g.w.c
	for p, end := range c.brokers.offsets(c.names.RunnerCommands(), ends, 0) {
		x.at[int32(p)] = end
	}
	g.executors[slot] = x
	g.w.tell(Subject{}, "  executor %s starts", x.name)
}

// moves adds what an executor could do now. The cluster's lock is held.
func (x *executor) moves(all []move, now time.Time) []move {
	for p := range int32(commandsPartitions) {
		if at := (place{x.g.w.c.names.RunnerCommands(), p}); x.unread[p] {
			all = append(all, move{what: func() string { return x.name + " follows " + at.String() }, noise: true, do: func() { x.follow(at) }})
		}
	}
	for _, s := range x.sockets {
		if s.readable() {
			all = append(all, move{what: func() string { return x.name + " reads " + s.String() }, noise: true, do: s.read})
		}
	}
	if x.due(now) {
		all = append(all, move{what: func() string { return x.name + " looks at its sockets" }, noise: true, do: func() { x.look(time.Now()) }})
	}
	return all
}

// follow does what pools have it do.
func (x *executor) follow(at place) {
	x.unread[at.partition] = false
	for _, rec := range x.g.w.c.records(at, x.at[at.partition], 1<<20) {
		x.at[at.partition] = rec.Offset + 1
		m, err := events.DecodeRunnerCommands(rec.Value)
		if err != nil {
			x.g.w.fail("commands to a runner: %w", err)
			continue
		}
		if m.To.Executor == x.name {
			x.commanded(m, service{m.To, at.partition, rec.Offset})
		}
	}
	x.g.oneServed()
}

// wrote notes that there is something for an executor. Of what is for others it is as if each had read it at once.
func (g *pooling) wrote(rec *kgo.Record, p int32) {
	if g == nil || rec.Topic != g.w.c.names.RunnerCommands() {
		return
	}
	m, err := events.DecodeRunnerCommands(rec.Value)
	for _, x := range g.executors {
		if x != nil && err == nil && m.To.Executor == x.name {
			x.unread[p] = true
		}
	}
}

// hasRead reports whether an executor has read the commands of a partition up to an offset, and what is there.
func (x *executor) hasRead(p int32, offset int64) bool { return !x.unread[p] || x.at[p] > offset }

func (x *executor) commanded(m *events.RunnerCommands, at service) {
	if m.To.Number == 0 {
		for _, s := range slices.Clone(x.sockets) {
			if s.pool == m.Pool && s.phase == serving {
				s.dismiss(m.Close)
			}
		}
		return
	}
	i := slices.IndexFunc(x.sockets, func(s *socket) bool { return s.of == m.To })
	switch {
	case i >= 0:
		x.sockets[i].command(m, at)
	case m.Welcome != nil:
		x.orphan(m)
	}
}

// orphan tells a pool that the socket is gone whose runner it welcomes.
func (x *executor) orphan(m *events.RunnerCommands) {
	x.say("reports", m.Pool, &events.RunnerReport{Connection: m.To, Runner: m.Runner, Session: m.Welcome.Session, Closed: "it was gone before the pool had answered"}, func() {})
}

// say tells an entity or a workflow something. done is called under the cluster's lock once Kafka has it.
func (x *executor) say(by, to string, m events.InboxMessage, done func()) {
	c := x.g.w.c
	rec := kafka.Keyed(c.names.Inbox(), []byte(to), wire.Marshal(&events.Inbox{Message: m}), kafka.InboxFormat...)
	o := &op{what: "tells " + to, exec: func() error { return c.write(rec) }}
	o.done = func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if x.dead {
			return
		}
		x.sent = slices.DeleteFunc(x.sent, func(other *op) bool { return other == o })
		if err != nil {
			x.g.w.fail("%s tells %s something: %w", x.name, to, err)
			return
		}
		done()
	}
	x.sent = append(x.sent, o)
	c.add(nil, "executor/"+x.name+"/"+by+"/"+to, sending, o)
}

// kill ends an executor without a goodbye. What it had sent may still arrive. Runners notice soon, or not before it has
// been silent for too long.
func (x *executor) kill(noticed bool) {
	c := x.g.w.c
	c.mu.Lock()
	defer c.mu.Unlock()
	x.dead = true
	x.g.executors[x.slot] = nil
	for _, o := range x.sent {
		o.gone, o.done = true, nil
	}
	for _, s := range x.sockets {
		s.phase = gone
		if noticed {
			s.toRunner = append(s.toRunner, toRunner{broken: true})
		}
	}
}

// leave closes all sockets, so that their runners go elsewhere.
func (x *executor) leave() {
	x.g.w.c.mu.Lock()
	defer x.g.w.c.mu.Unlock()
	for _, s := range slices.Clone(x.sockets) {
		s.shut(frames.CloseGoingAway)
	}
}

// due reports whether there is something to do because of the time.
func (x *executor) due(now time.Time) bool {
	return now.Sub(x.said) >= presentTime && slices.ContainsFunc(x.sockets, (*socket).serves) || slices.ContainsFunc(x.sockets, func(s *socket) bool { return s.due(now) })
}

// look does what is due.
func (x *executor) look(now time.Time) {
	for _, s := range slices.Clone(x.sockets) {
		s.look(now)
	}
	if now.Sub(x.said) < presentTime {
		return
	}
	x.said = now
	said := map[string]bool{}
	for _, s := range x.sockets {
		if s.serves() && !said[s.pool] {
			said[s.pool] = true
			x.say("passing", s.pool, &events.RunnerReport{Connection: events.Connection{Executor: x.name}}, func() {})
		}
	}
}
