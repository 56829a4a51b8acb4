package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// waitStep is how long one request waits for the end of the work; a longer
	// wait asks again.
	waitStep = 30 * time.Second

	// maxAnswer bounds what is read of one answer.
	maxAnswer = 64 << 20
)

// httpTransport talks to a gateway.
type httpTransport struct {
	base *url.URL
	hc   *http.Client
	key  string
}

func newHTTPTransport(o Options) (*httpTransport, error) {
	base, err := url.Parse(strings.TrimSuffix(o.URL, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the URL of a gateway, as http://HOST:PORT is", o.URL)
	}
	hc := o.HTTPClient
	if hc == nil {
		tr := http.DefaultTransport.(*http.Transport).Clone()
		tr.MaxIdleConnsPerHost = 1024 // as many as calls that wait at once
		tr.MaxIdleConns = 1024
		tr.DialContext = (&net.Dialer{Timeout: dialTime}).DialContext
		hc = &http.Client{Transport: tr}
	}
	return &httpTransport{base: base, hc: hc, key: o.APIKey}, nil
}

func (t *httpTransport) Close() error {
	t.hc.CloseIdleConnections()
	return nil
}

// path joins escaped segments: workflow ids may hold slashes.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// request describes one request.
type request struct {
	method string
	path   string
	query  url.Values
	key    string // idempotency
	accept string
	body   []byte

	lastEvent string        // of an event stream: go on behind it
	waits     time.Duration // how long the answer is asked to wait
}

// send sends a request; the caller closes the body. Status 400 and above is an
// *Error.
func (t *httpTransport) send(ctx context.Context, r request) (*http.Response, error) {
	target := t.base.String() + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if t.key != "" {
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	if r.lastEvent != "" {
		req.Header.Set("Last-Event-ID", r.lastEvent)
	}
	resp, err := t.patiently(req, answerTime+r.waits)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unavailable(err)
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		whole(resp)
		return nil, problem(resp)
	}
	return resp, nil
}

// fetch sends a request and reads the whole answer.
func (t *httpTransport) fetch(ctx context.Context, r request) (int, []byte, error) {
	resp, err := t.send(ctx, r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	whole(resp)
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer: %w", err)
	}
	if contentType(resp) == "text/html" {
		return 0, nil, foreign(resp)
	}
	return resp.StatusCode, b, nil
}

// problem reads an RFC 9457 problem.
func problem(resp *http.Response) error {
	var p struct {
		Type     string       `json:"type"`
		Title    string       `json:"title"`
		Detail   string       `json:"detail"`
		Errors   []FieldError `json:"errors"`
		Workflow *Workflow    `json:"workflow"`
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Type == "" {
		if wantsTLS(resp, b) {
			return &Error{Code: ErrUnavailable.Code, Message: resp.Request.URL.Host + " speaks https, not http"}
		}
		return foreign(resp)
	}
	e := &Error{
		Code: strings.TrimPrefix(p.Type, "urn:heddle:problem:"), Status: resp.StatusCode,
		Message: p.Detail, Errors: p.Errors, Workflow: p.Workflow,
	}
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	if e.Message == "" {
		e.Message = p.Title
	}
	if len(p.Errors) == 1 {
		e.Path, e.Errors = p.Errors[0].Path, nil
	}
	return e
}
