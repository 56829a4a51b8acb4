package pool

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
	"github.com/heddle-run/heddle/shared/wire"
)

// head is what a pool is at. It is there from the first runner or offer until nothing is left to remember.
type head struct {
	Applied   events.Position
	Works     uint64 // number of the newest attempt that was offered, or forestalled
	Sessions  uint64 // number of the newest session
	Executors uint64 // number of the newest executor
	Uses      uint64 // times that a slot was given
	Queued    uint64 // attempts that wait
	Given     uint64 // attempts that have a slot
	Alive     uint64 // sessions that are not over
	Kept      uint64 // sessions that are over, executors, and forestalled offers
	Due       int64  // Unix ms of the timer; 0: there is none

	Runners counts // sessions that are not over

	Shards int    // that the pool had when its sessions were last looked at; 0: 1
	Asked  int64  // Unix ms when other shards were asked for free slots
	Asks   uint64 // how often, since one has had some
}

// Fields implements wire.Message.
func (h *head) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "applied", &h.Applied)
	wire.Int(c, 2, "works", &h.Works)
	wire.Int(c, 3, "sessions", &h.Sessions)
	wire.Int(c, 4, "executors", &h.Executors)
	wire.Int(c, 5, "uses", &h.Uses)
	wire.Int(c, 6, "queued", &h.Queued)
	wire.Int(c, 7, "given", &h.Given)
	wire.Int(c, 8, "alive", &h.Alive)
	wire.Int(c, 9, "kept", &h.Kept)
	wire.Int(c, 10, "due", &h.Due)
	wire.Nested(c, 11, "runners", &h.Runners)
	wire.Int(c, 12, "shards", &h.Shards)
	wire.Int(c, 13, "asked", &h.Asked)
	wire.Int(c, 14, "asks", &h.Asks)
}

// counts are those of sessions, so that what a pool is at is known without a look at each of them.
type counts struct {
	Connected uint64
	Lost      uint64
	Draining  uint64
	Passed    uint64 // of the connected ones: those that get no new work
	Slots     uint64 // of the connected ones
	Free      uint64 // of those: that may be given
}

// Fields implements wire.Message.
func (n *counts) Fields(c *wire.Codec) {
	wire.Int(c, 1, "connected", &n.Connected)
	wire.Int(c, 2, "lost", &n.Lost)
	wire.Int(c, 3, "draining", &n.Draining)
	wire.Int(c, 4, "passed", &n.Passed)
	wire.Int(c, 5, "slots", &n.Slots)
	wire.Int(c, 6, "free", &n.Free)
}

// add counts a session; by is -1 for one that is not to be counted any more.
func (n *counts) add(s *session, by int64) {
	one := uint64(by) // which is added with the overflow that takes away
	switch s.State {
	case connected:
		n.Connected += one
		n.Slots += one * uint64(s.Slots)
		n.Free += one * uint64(s.free())
		if s.passed() != "" {
			n.Passed += one
		}
	case lost:
		n.Lost += one
	case draining:
		n.Draining += one
	case stopped:
	}
}

// work is an attempt that is offered to the pool, until it is over.
type work struct {
	Token   []byte
	Rank    uint8
	Queue   string
	Task    []byte // until its runner has acknowledged the command
	Since   int64  // Unix ms of the offer
	Session uint64 // that has given it a slot; 0: it waits
	Index   uint64 // of the command that begins it
	Given   int64  // Unix ms of that
	Begun   bool   // its runner has said that it runs
	Stop    string // why its runner was told to stop it; empty: it was not
	Due     int64  // Unix ms: its runner must have confirmed the last command, or it runs and its workflow is asked; 0: it may take its time
}

// Fields implements wire.Message.
func (w *work) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &w.Token)
	wire.Int(c, 2, "rank", &w.Rank)
	wire.String(c, 3, "queue", &w.Queue)
	c.Bytes(4, "task", &w.Task)
	wire.Int(c, 5, "since", &w.Since)
	wire.Int(c, 6, "session", &w.Session)
	wire.Int(c, 7, "index", &w.Index)
	wire.Int(c, 8, "given", &w.Given)
	c.Bool(9, "begun", &w.Begun)
	wire.String(c, 10, "stop", &w.Stop)
	wire.Int(c, 11, "due", &w.Due)
}

// state is what a session is at. Values are recorded.
type state uint8

const (
	connected state = 1
	lost      state = 2 // it has no socket, and may come back
	draining  state = 3 // it gets no more work, with a socket or without
	stopped   state = 4 // it is over
)

var stateNames = [...]string{"", "connected", "lost", "draining", "stopped"}

func (s state) String() string { return stateNames[s] }

// session is a runner as the pool knows it, over all of its sockets.
type session struct {
	Runner   string // id of the session
	Key      string
	Name     string
	Version  uint32
	Slots    uint32
	Used     uint32 // slots that are not free
	State    state
	Instance string
	To       events.Connection // its socket; empty: it has none
	Address  string            // of the executor that has it

	Commands uint64 // that it was given, and thus the index of the next one
	Received uint64 // of those: acknowledged
	Events   uint64 // that have counted, and thus the index of the next one
	LastUse  uint64 // when a slot of it was given last, by the pool's count of that

	Passed string // why it gets no new work though it is connected; empty: it does
	Reason string // why it has no socket, drains, or is over

	Joined  int64 // Unix ms, all of these; 0: not yet
	Seen    int64 // the newest sign of life
	Drain   int64
	Expires int64 // when it is over unless it comes back; once it is over, when it was
	Stopped int64

	Due    int64 // Unix ms of its row among what is due; 0: there is none
	Listed bool  // it has a row in the order of allocation
	Evict  bool  // an operator, or a newer version, drains it: its socket is closed once it has no work
	Away   bool  // it belongs to another shard of the pool, and goes there once it has no work
}

// Fields implements wire.Message.
func (s *session) Fields(c *wire.Codec) {
	wire.String(c, 1, "runner", &s.Runner)
	wire.String(c, 2, "key", &s.Key)
	wire.String(c, 3, "name", &s.Name)
	wire.Int(c, 4, "version", &s.Version)
	wire.Int(c, 5, "slots", &s.Slots)
	wire.Int(c, 6, "used", &s.Used)
	wire.Int(c, 7, "state", &s.State)
	wire.String(c, 8, "instance", &s.Instance)
	wire.Nested(c, 9, "to", &s.To)
	wire.String(c, 10, "address", &s.Address)
	wire.Int(c, 13, "commands", &s.Commands)
	wire.Int(c, 14, "received", &s.Received)
	wire.Int(c, 15, "events", &s.Events)
	wire.Int(c, 16, "last_use", &s.LastUse)
	wire.String(c, 17, "passed", &s.Passed)
	wire.String(c, 18, "reason", &s.Reason)
	wire.Int(c, 19, "joined", &s.Joined)
	wire.Int(c, 20, "seen", &s.Seen)
	wire.Int(c, 21, "drain", &s.Drain)
	wire.Int(c, 22, "expires", &s.Expires)
	wire.Int(c, 23, "stopped", &s.Stopped)
	wire.Int(c, 24, "due", &s.Due)
	c.Bool(25, "listed", &s.Listed)
	c.Bool(26, "evict", &s.Evict)
	c.Bool(27, "away", &s.Away)
}

// profile is what a runner says of itself. It is apart from its session, which changes with every attempt.
type profile struct {
	Names    []events.TaskName
	Metadata []byte
}

// Fields implements wire.Message.
func (p *profile) Fields(c *wire.Codec) {
	wire.Repeated(c, 1, "names", &p.Names)
	c.Bytes(2, "metadata", &p.Metadata)
}

// free are the slots that the pool may give.
func (s *session) free() uint32 {
	if s.State != connected || s.passed() != "" {
		return 0
	}
	return s.Slots - s.Used
}

// passed is why a session gets no new work though it is connected; empty: it does.
func (s *session) passed() string {
	if s.Passed == "" && s.Away {
		return "it goes to another shard of the pool once it has no work"
	}
	return s.Passed
}

// unheeding reports whether a runner has not acknowledged more commands than one may leave so.
func (s *session) unheeding() bool { return s.Commands-s.Received > maxUnheeded+4*uint64(s.Slots) }

// alive reports whether a runner with its key is this session.
func (s *session) alive() bool { return s.State == connected || s.State == lost }

// command is one that a runner has not acknowledged.
type command struct {
	Number uint64 // of the attempt
	Token  []byte
	Stop   string // empty: begin it
}

// Fields implements wire.Message.
func (k *command) Fields(c *wire.Codec) {
	wire.Int(c, 1, "number", &k.Number)
	c.Bytes(2, "token", &k.Token)
	wire.String(c, 3, "stop", &k.Stop)
}

// executor is one that has sockets of runners of the pool.
type executor struct {
	ID    string
	Until int64 // Unix ms: its sockets are taken for gone then
}

// Fields implements wire.Message.
func (x *executor) Fields(c *wire.Codec) {
	wire.String(c, 1, "id", &x.ID)
	wire.Int(c, 2, "until", &x.Until)
}

// numbered is where something is found by its name.
type numbered struct{ Number uint64 }

// Fields implements wire.Message.
func (n *numbered) Fields(c *wire.Codec) { wire.Int(c, 1, "number", &n.Number) }

// forestalled is an offer that is not taken when it comes.
type forestalled struct {
	Token []byte
	Due   int64
}

// Fields implements wire.Message.
func (f *forestalled) Fields(c *wire.Codec) {
	c.Bytes(1, "token", &f.Token)
	wire.Int(c, 2, "due", &f.Due)
}

// nothing is a row whose key says everything.
type nothing struct{}

// Fields implements wire.Message.
func (*nothing) Fields(*wire.Codec) {}

// What is due, as its keys say.
const (
	dueWork        = 1
	dueSession     = 2
	dueExecutor    = 3
	dueForestalled = 4
)

// What names are of.
const (
	byToken       = "t"
	byKey         = "k"
	byExecutor    = "x"
	byForestalled = "f"
)

func headKey(id string) rows.Key { return rows.Key{Table: rows.Header, Workflow: id} }

func workKey(id string, n uint64) rows.Key { return rows.Key{Table: rows.Fact, Workflow: id, A: n} }

func queueKey(id string, rank uint8, n uint64) rows.Key {
	return rows.Key{Table: rows.Ready, Workflow: id, A: uint64(rank), B: n}
}

func sessionKey(id string, n uint64) rows.Key {
	return rows.Key{Table: rows.Scope, Workflow: id, A: n}
}

// profileKey is what a session's runner says of itself.
func profileKey(id string, n uint64) rows.Key {
	return rows.Key{Table: rows.Elements, Workflow: id, A: n}
}

// heldKey is an attempt that has a slot of a session.
func heldKey(id string, session, n uint64) rows.Key {
	return rows.Key{Table: rows.Join, Workflow: id, A: session, B: n}
}

func commandKey(id string, session, index uint64) rows.Key {
	return rows.Key{Table: rows.Arm, Workflow: id, A: session, B: index}
}

func executorKey(id string, n uint64) rows.Key { return rows.Key{Table: rows.Page, Workflow: id, A: n} }

// socketKey is a session whose socket an executor has.
func socketKey(id string, executor, session uint64) rows.Key {
	return rows.Key{Table: rows.Racer, Workflow: id, A: executor, B: session}
}

func forestalledKey(id string, n uint64) rows.Key {
	return rows.Key{Table: rows.Suppressed, Workflow: id, A: n}
}

func nameKey(id, of, name string) rows.Key {
	return rows.Key{Table: rows.Match, Workflow: id, Sub: of + name}
}

func dueKey(id string, due int64, what, n uint64) rows.Key {
	return rows.Key{Table: rows.Watch, Workflow: id, A: uint64(due), B: what, C: n}
}

func timerKey(id string, due int64) rows.Key {
	return rows.Key{Table: rows.Timer, A: uint64(due), Workflow: id, C: machine.TimerPool}
}

// placeKey is the place of a session in the order of allocation: the highest version, then the highest ratio of free
// slots, then the one that was used longest ago.
func placeKey(id string, s *session, n uint64) rows.Key {
	ratio := uint64(0)
	if s.Slots > 0 {
		ratio = uint64(s.free()) << 31 / uint64(s.Slots)
	}
	return rows.Key{Table: rows.Latest, Workflow: id, A: uint64(^s.Version)<<32 | (1<<32 - 1 - ratio), B: s.LastUse, C: n}
}
