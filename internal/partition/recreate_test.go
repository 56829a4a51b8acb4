package partition

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/kafka"
	"github.com/heddle-run/heddle/shared/events"
)

// whole drives one workflow through every log that an owner reads: a command, its
// outcome in the inbox, and questions.
func (r *rig) whole(workflow string, sum int64) {
	r.t.Helper()
	if got := r.do(workflow, "input", `{"input": 7}`); got.Result != events.ResultDone {
		r.t.Fatalf("the command got %+v", got)
	}
	if got := r.settled(workflow); got != sum {
		r.t.Fatalf("sum is %d, want %d", got, sum)
	}
}

func TestALiveOwnerReadsOnInAnInputTopicThatWasMadeAnew(t *testing.T) {
	for _, log := range []string{"commands", "inbox", "queries"} {
		t.Run(log, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				var said lines
				r.logger = slog.New(&said)
				p := r.partitionOf("w")
				r.adder()
				s := r.start("a", p, (p+1)%r.n)
				defer s.leave()
				r.counted("w", 1)
				r.settled("w")
				r.whole("w", 14)
				r.remake(map[string]string{"commands": r.names.Commands(), "inbox": r.names.Inbox(), "queries": r.names.Queries()}[log])
				r.whole("w", 21)
				<-time.After(time.Minute)
				r.whole("w", 28)
				if n := said.count("a log cannot be read"); n < 1 || n > 2 {
					t.Errorf("it is said %d times, want once for each partition", n)
				}
			})
		})
	}
}

// Questions have no place to keep: whatever becomes of their log, those that come
// are answered, and what is wrong with it is said once.
func TestQuestionsAreReadOnBehindALossOfTheirLog(t *testing.T) {
	inBubble(t, func(r *rig) {
		var said lines
		r.logger = slog.New(&said)
		p := r.partitionOf("w")
		s := r.start("a", p)
		defer s.leave()
		r.counted("w", 1)
		s.router.Pause(r.names.Queries(), p)
		<-time.After(time.Second) // the fetch under way ends
		for range 3 {
			r.must(r.producer.ProduceSync(context.Background(), kafka.Keyed(r.names.Queries(), []byte("w"), nil)).FirstErr())
		}
		r.purge(r.names.Queries(), p, r.end(r.names.Queries(), p))
		s.router.Resume(r.names.Queries(), p)
		<-time.After(time.Minute)
		r.query("w")
		if n := said.count("a log cannot be read"); n != 1 {
			t.Errorf("the loss is said %d times, want once", n)
		}
		if n := said.count("a log is read again"); n != 1 {
			t.Errorf("its end is said %d times, want once", n)
		}
	})
}

// A producer goes on in the topic that there is.
func TestProducersGoOnInATopicThatWasMadeAnew(t *testing.T) {
	inBubble(t, func(r *rig) {
		p := r.partitionOf("w")
		s := r.start("a", p)
		defer s.leave()
		r.counted("w", 1)
		old := r.producer
		r.remake(r.names.Commands())
		r.producer = old
		var err error
		for range 100 { // what was on its way may fail
			if err = old.ProduceSync(context.Background(), kafka.Keyed(r.names.Commands(), []byte("w"), nil)).FirstErr(); err == nil {
				break
			}
			<-time.After(100 * time.Millisecond)
		}
		if err != nil {
			t.Fatalf("ten seconds later: %v", err)
		}
	})
}

// lines counts what is logged.
type lines struct {
	slog.Handler
	mu  sync.Mutex
	all []string
}

// Enabled implements slog.Handler.
func (*lines) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, r.Message)
	return nil
}

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *lines) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, m := range l.all {
		if m == message {
			n++
		}
	}
	return n
}
