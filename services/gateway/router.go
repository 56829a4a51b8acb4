package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/spelling"
)

// router makes the router of all routes.
func (g *Gateway) router() *chi.Mux {
	mux := chi.NewRouter()
	mux.Use(middleware.GetHead) // HEAD is GET without a body, which net/http leaves out
	for _, rt := range routes() {
		mux.Method(rt.method, rt.pattern(), g.serve(rt))
	}
	if g.cfg.Runners != nil {
		mux.Method(http.MethodGet, frames.Path, g.cfg.Runners)
	}
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) {
		g.problem(w, refuse("no_such_route", fmt.Sprintf("there is nothing at %s; /openapi.json lists what there is", r.URL.Path)))
	})
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed(mux, r), ", "))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		g.problem(w, refuse("method_not_allowed", fmt.Sprintf("%s does not take %s", r.URL.Path, r.Method)))
	})
	return mux
}

// pattern is the path as the router takes it.
func (rt *route) pattern() string {
	if rt.tunnel {
		return strings.TrimSuffix(rt.path, "{path}") + "*"
	}
	return rt.path
}

// allowed are the methods that a path takes.
func allowed(mux *chi.Mux, r *http.Request) []string {
	list := []string{http.MethodOptions}
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if !mux.Match(chi.NewRouteContext(), method, path) {
			continue
		}
		if list = append(list, method); method == http.MethodGet {
			list = append(list, http.MethodHead)
		}
	}
	slices.Sort(list)
	return list
}

// serve wraps one route: key, parameters, measures, problems, panics.
func (g *Gateway) serve(rt route) http.Handler {
	label := rt.method + " " + rt.path
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &statusWriter{ResponseWriter: rw}
		began := time.Now()
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint // the value itself, as net/http compares it
					panic(v)
				}
				g.logger.Error("a handler panicked", "route", label, "panic", v, "stack", string(debug.Stack()))
				g.fail(w, r, label, fmt.Errorf("panic: %v", v))
			}
			g.metrics.answered(label, w.status, time.Since(began))
		}()
		err := g.authorize(r, rt.role)
		if err == nil && !rt.tunnel {
			err = checkQuery(r, rt.query)
		}
		if err == nil {
			err = rt.handle(g, w, r)
		}
		if err != nil {
			g.fail(w, r, label, err)
		}
	})
}

// fail answers with the problem that err is, unless the answer has begun or
// nobody is there any more.
func (g *Gateway) fail(w *statusWriter, r *http.Request, label string, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		w.status = or(w.status, statusClientGone)
		return
	}
	p := problemOf(err)
	if p.code() == "internal" {
		g.logger.Error("a request failed", "route", label, "error", err)
	}
	if w.status == 0 {
		g.problem(w, p)
	}
}

// statusClientGone is how measures show a client that hung up (as nginx does).
const statusClientGone = 499

func (g *Gateway) problem(w http.ResponseWriter, p *Problem) {
	g.metrics.refused.WithLabelValues(p.code()).Inc()
	p.write(w)
}

func paramNames(all []param) []string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	return names
}

// checkQuery refuses parameters that the route does not know, and repeated ones.
func checkQuery(r *http.Request, known []param) error {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse("invalid_parameter", "the query string cannot be read: "+err.Error())
	}
	for name, list := range values {
		ok := slices.ContainsFunc(known, func(p param) bool {
			prefix, star := strings.CutSuffix(p.name, "*")
			return p.name == name || star && strings.HasPrefix(name, prefix) && len(name) > len(prefix)
		})
		if !ok {
			return refuseField("unknown_parameter", name, "there is no such query parameter"+spelling.Meant(name, paramNames(known)))
		}
		if len(list) > 1 {
			return refuseField("invalid_parameter", name, "is given more than once")
		}
	}
	return nil
}

// pathValue is a decoded part of the path.
func pathValue(r *http.Request, name string) (string, error) {
	raw := chi.URLParam(r, name)
	if r.URL.RawPath == "" { // the whole path is as it is usually escaped, and has been read already
		return raw, nil
	}
	v, err := url.PathUnescape(raw)
	if err != nil {
		return "", refuseField("invalid_parameter", name, "is not well encoded")
	}
	return v, nil
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(status int) {
	w.status = or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.status = or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
