package runners

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/heddle-run/heddle/internal/access"
	"github.com/heddle-run/heddle/internal/service"
	"github.com/heddle-run/heddle/shared/frames"
)

// Listen says where runners connect.
type Listen struct {
	Addr     string // HOST:PORT; empty: at no address of the Server's own
	CertFile string // PEM, with KeyFile for wss; they are read again when they change
	KeyFile  string

	Bounds service.Bounds // of connections; of one address as many as of all, unless said otherwise

	// Handler is given what serves frames.Path, for a server of the assembly's, and nil when it serves no more. nil: nobody wants it.
	Handler func(http.Handler)
}

// ErrExposed is a binding that everybody on the network could use.
var ErrExposed = errors.New("without keys runners are served on loopback only: give --runners-keys, or --runners-insecure if something else guards the address")

// stopGrace is how long requests that are no sockets may finish when the server stops.
const stopGrace = time.Second

// Run serves runners until ctx ends. ready is called with the address, which is nil where there is none.
func Run(ctx context.Context, c Config, l Listen, ready func(net.Addr)) (err error) {
	ln, err := l.listen(ctx, &c)
	if err != nil {
		return fmt.Errorf("runners: %w", err)
	}
	s, err := Open(ctx, c)
	if err != nil {
		if ln != nil {
			err = errors.Join(err, ln.Close())
		}
		return err
	}
	if l.Handler != nil {
		l.Handler(s)
		defer l.Handler(nil)
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- s.Close() })
	defer func() {
		if stop() { // ctx has not ended
			closed <- s.Close()
		}
		err = errors.Join(err, <-closed)
	}()
	if ln == nil {
		ready(nil)
		<-ctx.Done()
		return nil
	}
	ready(ln.Addr())
	mux := http.NewServeMux()
	mux.Handle(frames.Path, s)
	return service.ServeHTTP(ctx, ln, mux, stopGrace, c.Logger)
}

// Check says what is wrong with the address; ErrExposed, where others than this machine would be served without keys.
func (l Listen) Check(c *Config) error {
	if l.Addr == "" {
		return nil
	}
	exposed, err := access.Exposed(l.Addr)
	if err == nil && exposed && len(c.Keys) == 0 && !c.Insecure {
		err = fmt.Errorf("listen on %s: %w", l.Addr, ErrExposed)
	}
	return err
}

// listen opens the address, if there is one.
func (l Listen) listen(ctx context.Context, c *Config) (net.Listener, error) {
	if l.Addr == "" {
		return nil, nil //nolint:nilnil // there is no address
	}
	if err := l.Check(c); err != nil {
		return nil, err
	}
	ln, err := service.Listen(ctx, l.Addr)
	if err != nil {
		return nil, err
	}
	b := l.Bounds
	if b.Connections == 0 {
		b.Connections = mostConnections
	}
	if b.PerClient == 0 {
		b.PerClient = b.Connections // many runners may be on one machine, or behind one proxy
	}
	served, err := service.Encrypted(service.Bounded(ln, b), l.CertFile, l.KeyFile, c.Logger)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return served, nil
}

// mostConnections are more than sockets, as some are being closed.
const mostConnections = 16_384
