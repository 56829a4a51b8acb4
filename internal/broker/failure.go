package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
)

// ErrFailed is a broker that could not write to its data directory.
var ErrFailed = errors.New("the embedded broker cannot write to its data directory and has stopped serving")

// failure ends the broker at its first write that fails. kfake goes on then and
// only logs it: it acknowledges a transaction whose marker is not on disk, shows
// records that were to be aborted, and remembers sequence numbers of batches
// that it does not have. It logs from its one goroutine, before it answers; so
// that goroutine is kept there, and no answer leaves that could be untrue.
type failure struct {
	mu      sync.Mutex
	err     error
	serving bool // writes that fail are to be kept from being answered
	tell    func(error)
}

// wrote is told of a write that failed.
func (f *failure) wrote(err error) {
	f.mu.Lock()
	first, serving := f.err == nil, f.serving
	if first {
		f.err = fmt.Errorf("%w: %w", ErrFailed, err)
	}
	f.mu.Unlock()
	if !serving {
		return // nobody is answered: the code that starts or closes it asks for the error
	}
	if first && f.tell != nil {
		go f.tell(f.err)
	}
	select {} // for good: what is in memory is not what is on disk
}

// serve keeps failed writes from being answered from now on, unless there has
// been one, which it returns.
func (f *failure) serve() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serving = f.err == nil
	return f.err
}

// end says that nobody is answered any more, and returns the failure that there
// has been.
func (f *failure) end() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serving = false
	return f.err
}

// slowEnd begins what kfake warns of when a transaction takes 5 ms to end, which is
// usual where writes are synced.
const slowEnd = "txn: EndTxn slow "

// kfakeLogger passes kfake's log on, and recognizes failed writes in it: kfake
// tells of them nowhere else.
type kfakeLogger struct {
	l       *slog.Logger
	failure *failure
}

func (k kfakeLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	to := slog.LevelDebug
	switch level {
	case kfake.LogLevelNone, kfake.LogLevelDebug, kfake.LogLevelInfo:
		return // kfake's info is a line per request
	case kfake.LogLevelError:
		to = slog.LevelError
	case kfake.LogLevelWarn:
		if to = slog.LevelWarn; strings.HasPrefix(format, slowEnd) {
			to = slog.LevelDebug
		}
	}
	text := fmt.Sprintf(format, args...)
	k.l.Log(context.Background(), to, "broker: "+text)
	if failedWrite(format) {
		k.failure.wrote(errors.New(text))
	}
}

// failedWrite reports whether kfake's message is of a write that failed: of a
// batch, of an entry of its own logs, of its settings, of a compacted segment.
// (That it could not shorten its own logs does no harm.)
func failedWrite(format string) bool {
	for _, begins := range [...]string{"persist ", "save session state", "endTx: failed", "rebuildSegments "} {
		if strings.HasPrefix(format, begins) {
			return true
		}
	}
	return false
}
