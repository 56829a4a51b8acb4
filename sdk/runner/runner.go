package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/heddle-run/heddle/internal/typed"
	"github.com/heddle-run/heddle/sdk/task"
	"github.com/heddle-run/heddle/shared/wire"

	core "github.com/heddle-run/heddle/internal/runner"
)

// ErrEvicted is the error of a Run that the server has ended for good: another process has connected with the
// runner's key, or an operator has stopped it.
var ErrEvicted = core.ErrEvicted

// Runner runs the tasks that Handle registers.
type Runner struct {
	options  Options
	handlers map[string]Handler
	running  bool
	errs     []error // of registrations

	stop     chan struct{} // closed by StopNow
	stopOnce sync.Once
}

// New checks the options. It contacts nobody.
func New(o Options) (*Runner, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if _, err := o.address(); err != nil {
		return nil, err
	}
	return &Runner{options: o, handlers: map[string]Handler{}, stop: make(chan struct{})}, nil
}

// Handle makes r run fn for the attempts of t. It is for the time before Run;
// registering a task twice, or later, is an error of Run. fn is called from
// many goroutines at once; a panic fails the attempt, not the program. The
// queue of t is the deployment's affair: it is bound to a pool there.
func Handle[I, O any](r *Runner, t task.Task[I, O], fn func(context.Context, I) (O, error)) {
	r.register(t.Name(), typed.JSON(fn))
}

func (r *Runner) register(name string, h Handler) {
	for _, i := range slices.Backward(r.options.Interceptors) {
		h = i(h)
	}
	switch {
	case r.running:
		r.errs = append(r.errs, fmt.Errorf("runner: the task %s was registered after Run", name))
	case r.handlers[name] != nil:
		r.errs = append(r.errs, fmt.Errorf("runner: the task %s is registered twice", name))
	default:
		r.handlers[name] = h
	}
}

// pair lists a task of which there is nothing else to say.
func pair(name string) wire.Pair { return wire.Pair{Key: name, Value: json.RawMessage("{}")} }

// Run connects and runs attempts until ctx ends, as by a signal (signal.NotifyContext), then drains: it takes no
// more, lets running attempts end within Times.Drain, and closes. A socket that breaks is replaced, as often as it
// takes; one that breaks in a drain ends it. Run returns ErrEvicted if the server wants the runner no more. Functions that do not end with
// their context are left behind. A Runner runs once.
func (r *Runner) Run(ctx context.Context) error {
	if r.running {
		r.errs = append(r.errs, errors.New("runner: Run was called twice"))
	}
	r.running = true
	if err := errors.Join(r.errs...); err != nil {
		return err
	}
	init, err := r.options.init(slices.Sorted(maps.Keys(r.handlers)))
	if err != nil {
		return err
	}
	l, err := newLoop(r, init)
	if err != nil {
		return err
	}
	return l.run(ctx)
}

// StopNow makes Run end at once, without a word to the server but the close of the socket: what runs counts as
// lost after a while.
func (r *Runner) StopNow() { r.stopOnce.Do(func() { close(r.stop) }) }
