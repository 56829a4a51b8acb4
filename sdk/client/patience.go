package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	// answerTime is how long an answer may take to begin, beyond what a request
	// asks to be waited for: more than a gateway gives Kafka and its planners.
	answerTime = 20 * time.Second

	// silence is how long nothing may come of an answer that has begun: three
	// times as long as an event stream is silent.
	silence = 45 * time.Second

	// wholeTime is how long an answer may take to be whole beyond its beginning,
	// so that one that trickles ends.
	wholeTime = time.Minute

	// dialTime bounds the way to a gateway.
	dialTime = 10 * time.Second
)

// errTrickle ends an answer that is not whole in time.
var errTrickle = errors.New("the answer is not whole")

// whole bounds an answer that is to be read to its end.
func whole(resp *http.Response) {
	b, ok := resp.Body.(*patientBody)
	if !ok {
		return
	}
	b.end = time.AfterFunc(wholeTime, func() { b.cancel(errTrickle) })
}

// errSilent ends a request that is not answered.
var errSilent = errors.New("there is no answer")

// patiently sends a request whose answer must begin within so long, and must not
// stop coming. Closing the body ends it.
func (t *httpTransport) patiently(req *http.Request, begin time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	limit := time.AfterFunc(begin, func() { cancel(errSilent) })
	resp, err := t.hc.Do(req.WithContext(ctx))
	if err != nil {
		limit.Stop()
		silent := context.Cause(ctx) == errSilent //nolint:errorlint // the very value that was given
		cancel(nil)
		if silent {
			err = fmt.Errorf("%s: %w within %s", t.base, errSilent, begin)
		}
		return nil, err
	}
	resp.Body = &patientBody{base: t.base, ReadCloser: resp.Body, ctx: ctx, limit: limit, cancel: cancel}
	return resp, nil
}

// patientBody is an answer that must not fall silent.
type patientBody struct {
	io.ReadCloser
	base   *url.URL
	ctx    context.Context //nolint:containedctx // of this one answer
	limit  *time.Timer
	cancel context.CancelCauseFunc
	end    *time.Timer // of the whole answer; nil: it may go on
}

// Read implements io.Reader.
func (b *patientBody) Read(p []byte) (int, error) {
	b.limit.Reset(silence)
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	switch why := context.Cause(b.ctx); {
	case errors.Is(why, errSilent):
		err = &Error{Code: ErrUnavailable.Code, Message: fmt.Sprintf("the answer stopped for %s", silence)}
	case errors.Is(why, errTrickle):
		err = &Error{Code: ErrUnavailable.Code, Message: fmt.Sprintf("%s: %s after %s%s", b.base, errTrickle, wholeTime, gatewayHint)}
	}
	return n, err
}

// Close implements io.Closer.
func (b *patientBody) Close() error {
	b.limit.Stop()
	if b.end != nil {
		b.end.Stop()
	}
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// gatewayHint is for a user who has taken something else for a gateway.
const gatewayHint = "; is it the URL of a Heddle gateway?"

// unavailable says why there is no answer. A server that answers in another language
// than HTTP, or not at all, may be no gateway.
func unavailable(err error) error {
	return &Error{Code: ErrUnavailable.Code, Message: err.Error() + hint(err)}
}

func hint(err error) string {
	if errors.Is(err, http.ErrSchemeMismatch) {
		return "; it speaks http, not https"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "; an authority of one's own is named by --ca-file, in a program by Options.HTTPClient"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ""
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "; does a gateway run there (heddle dev and heddle gateway start one), and is it this URL?"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return ""
	}
	return gatewayHint
}

// wantsTLS reports whether a server refuses plain text, as Go's and nginx do.
func wantsTLS(resp *http.Response, body []byte) bool {
	return resp.StatusCode == http.StatusBadRequest && resp.Request.URL.Scheme == "http" && bytes.Contains(body, []byte("HTTPS"))
}

// foreign is an answer that no gateway gives.
func foreign(resp *http.Response) error {
	return &Error{
		Code: "http_status", Status: resp.StatusCode,
		Message: fmt.Sprintf("%s answers %s as %s%s", resp.Request.URL.Host, resp.Status, contentType(resp), gatewayHint),
	}
}

func contentType(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if kind == "" {
		return "nothing known"
	}
	return kind
}
