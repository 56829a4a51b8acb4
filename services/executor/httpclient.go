package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/heddle-run/heddle/internal/worker"
	"github.com/heddle-run/heddle/shared/events"
)

const (
	dialTimeout      = 10 * time.Second
	tlsTimeout       = 10 * time.Second
	idleTimeout      = 90 * time.Second
	maxHeaderBytes   = 64 << 10
	maxRedirects     = 10
	maxIdlePerClient = 256
)

// forbidden marks errors of the host rules on their way through net/http.
type forbidden struct{ err error }

func (f forbidden) Error() string { return f.err.Error() }

// newHTTPClient makes a pooled client that goes nowhere the rules forbid. The
// resolved address is checked when it is dialled, so that a name that resolves
// to another address the second time (DNS rebinding) gains nothing, and every
// redirect is checked again. Proxies of the environment are not used: they
// would resolve the names.
func newHTTPClient(rules hostRules, perHost int, redirects bool) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		return rules.checkDial(address)
	}}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           maxIdlePerClient,
			MaxIdleConnsPerHost:    perHost,
			IdleConnTimeout:        idleTimeout,
			TLSHandshakeTimeout:    tlsTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if !redirects {
				return http.ErrUseLastResponse
			}
			if len(via) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			if err := rules.checkURL(next.URL); err != nil {
				return forbidden{fmt.Errorf("redirect: %w", err)}
			}
			return nil
		},
	}
}

func (r hostRules) checkDial(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return forbidden{fmt.Errorf("the address %q cannot be checked: %w", address, err)}
	}
	if err := r.checkAddr(at.Addr()); err != nil {
		return forbidden{err}
	}
	return nil
}

// requestError is why a request had no response: forbidden for good, the end of
// the attempt's context, or a failure that another attempt may not meet.
func requestError(ctx context.Context, err error) error {
	if f, ok := errors.AsType[forbidden](err); ok {
		return refuse(events.ErrorAddressForbidden, "%v", f)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the request was ended: %w", context.Cause(ctx))
	}
	return &worker.TaskError{Type: events.ErrorRequestFailed, Message: err.Error()}
}

// readBody reads a response's body of at most limit bytes.
func readBody(ctx context.Context, resp *http.Response, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, requestError(ctx, fmt.Errorf("reading the response: %w", err))
	}
	if int64(len(body)) > limit {
		return nil, refuse(events.ErrorResultTooLarge, "the response has more than the limit of %d bytes", limit)
	}
	return body, nil
}
