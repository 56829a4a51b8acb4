package runners

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// Server has the sockets of runners: it is their http.Handler. Close it.
type Server struct {
	config Config
	id     string // of this executor, unlike that of any other process start
	log    *slog.Logger
	names  topics.Names
	inbox  string // topic
	most   int32  // bytes of a batch that it should take
	began  time.Time

	reports *kgo.Client // of what must arrive: it is tried until it has
	passing *kgo.Client // of what is said again, or not waited for: greetings, presence
	tail    *kgo.Client // of the pools' commands
	tunnels *kgo.Client // of gateways' messages to runners
	metrics *metrics

	held atomic.Int64 // bytes of what Kafka has not acknowledged

	mu       sync.Mutex
	sessions map[uint64]*session
	last     uint64        // number of a socket
	closing  bool          // no socket is taken any more
	empty    chan struct{} // closed once there are none

	unread pace // of undecodable frames in the log

	living context.Context // until the loops end
	stop   context.CancelFunc
	loops  sync.WaitGroup // followers and keepers
	reads  sync.WaitGroup // sockets that are read
	closed sync.Once
}

// openTimeout bounds what has to be asked before sockets are taken.
const openTimeout = time.Minute

// Open connects to Kafka and follows what pools have executors do.
func Open(ctx context.Context, c Config) (*Server, error) {
	names, err := c.Kafka.Names()
	if err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Kafka.Limits == nil {
		c.Kafka.Limits = &kafka.Limits{}
	}
	c.Times, c.Limits = c.Times.complete(), c.Limits.complete()
	s := &Server{
		config: c, id: rand.Text(), log: c.Logger, names: names, inbox: names.Inbox(), most: topics.Default().MaxBytes(names, names.Inbox()),
		began: time.Now(), sessions: map[uint64]*session{}, empty: make(chan struct{}),
	}
	s.metrics = newMetrics(s)
	if err := s.connect(ctx); err != nil {
		s.closeClients()
		return nil, fmt.Errorf("runners: %w", err)
	}
	if c.Registerer != nil {
		if err := c.Registerer.Register(s.metrics); err != nil {
			s.closeClients()
			return nil, fmt.Errorf("runners: metrics: %w", err)
		}
	}
	s.living, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.loops.Go(func() { s.polled(s.living, s.tail, "commands to runners", s.commanded) })
	s.loops.Go(func() { s.polled(s.living, s.tunnels, "messages to runners", s.carried) })
	s.loops.Go(func() { s.keep(s.living) })
	return s, nil
}

// connect makes the clients. What is said to this executor comes behind the ends that the log has now: it has no socket yet.
func (s *Server) connect(ctx context.Context) (err error) {
	if s.reports, err = kafka.NewEffectsProducer(s.config.Kafka); err != nil {
		return err
	}
	if s.passing, err = kafka.NewOutboxProducer(s.config.Kafka); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	ends, err := kadm.NewClient(s.reports).ListEndOffsets(ctx, s.names.RunnerCommands())
	if err = errors.Join(err, ends.Error()); err != nil {
		return fmt.Errorf("asking for the ends of %s: %w", s.names.RunnerCommands(), err)
	}
	from := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) { from[o.Partition] = o.Offset })
	if s.tail, err = kafka.NewTailFrom(s.config.Kafka, s.names.RunnerCommands(), from); err != nil {
		return err
	}
	return s.tunnelEnds(ctx)
}

func (s *Server) closeClients() {
	for _, cl := range []*kgo.Client{s.tail, s.tunnels, s.passing, s.reports} {
		if cl != nil {
			cl.Close()
		}
	}
}

// Close closes all sockets so that their runners come back, to another executor; their attempts run on. It waits for
// what they have said to be in Kafka, but not for long. Closing again does nothing.
func (s *Server) Close() error {
	s.closed.Do(func() {
		for _, one := range s.endAll() {
			one.shut(frames.CloseGoingAway)
		}
		timer := time.NewTimer(s.config.Times.Drain)
		defer timer.Stop()
		select {
		case <-s.empty:
		case <-timer.C:
			s.log.Warn("the pools may not hear at once that runners' sockets were closed", "sockets", s.open())
		}
		s.stop()
		s.loops.Wait()
		s.closeClients()
		s.reads.Wait()
		if s.config.Registerer != nil {
			s.config.Registerer.Unregister(s.metrics)
		}
	})
	return nil
}

// endAll takes no more sockets, and returns those that there are.
func (s *Server) endAll() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	if len(s.sessions) == 0 {
		close(s.empty)
	}
	return s.listed(nil)
}

// listed appends all sessions. The caller holds s.mu.
func (s *Server) listed(all []*session) []*session {
	for _, one := range s.sessions { // order: each is looked at by itself
		all = append(all, one)
	}
	return all
}

func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

func (s *Server) find(number uint64) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[number]
}

// add gives a session its number; false: no more sockets are taken.
func (s *Server) add(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || len(s.sessions) >= s.config.Limits.Sockets {
		return false
	}
	s.last++
	one.number = s.last
	s.sessions[one.number] = one
	s.reads.Add(1)
	return true
}

// remove forgets a session that has nothing left to say.
func (s *Server) remove(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[one.number] != one {
		return
	}
	delete(s.sessions, one.number)
	if s.closing && len(s.sessions) == 0 {
		close(s.empty)
	}
}

// Send sends a frame to the runner that has the socket of a number. It is false when there is none any more, or when it
// does not read and is closed for it.
func (s *Server) Send(number uint64, f frames.ToClient) bool {
	one := s.find(number)
	return one != nil && one.send(f)
}

// say produces a message to an entity or a workflow. done is called once, from a goroutine of the client, unless that is closed.
func (s *Server) say(by *kgo.Client, to string, m events.InboxMessage, done func(*kgo.Record, error)) {
	r := kafka.Keyed(s.inbox, []byte(to), wire.Marshal(&events.Inbox{Message: m}), kafka.InboxFormat...)
	by.Produce(context.Background(), r, func(r *kgo.Record, err error) {
		if !errors.Is(err, kgo.ErrClientClosed) {
			done(r, err)
		}
	})
}

// now is the time since the server was opened, as sessions keep it.
func (s *Server) now() time.Duration { return time.Since(s.began) }
