package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"

	"github.com/heddle-run/heddle/internal/definitions"
	"github.com/heddle-run/heddle/internal/runtime"
	"github.com/heddle-run/heddle/services/gateway/view"
)

// listDefinitions answers with one page of the names under which definitions are
// registered, and who uses them.
func (g *Gateway) listDefinitions(w http.ResponseWriter, r *http.Request) error {
	limit, err := pageLimit(r)
	if err != nil {
		return err
	}
	after, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("cursor"))
	if err != nil {
		return refuseField("invalid_parameter", "cursor", "is not a cursor of this list")
	}
	if err := g.syncBook(r.Context()); err != nil {
		return err
	}
	count, err := g.useCounts()
	if err != nil {
		return err
	}
	names, more := g.book.Names(string(after), limit)
	page := List[NamedDefinition]{Items: []NamedDefinition{}}
	for _, name := range names {
		page.Items = append(page.Items, g.named(name, count))
	}
	if more {
		next := base64.RawURLEncoding.EncodeToString([]byte(names[len(names)-1]))
		page.Next = &next
	}
	return writeJSON(w, r, http.StatusOK, page)
}

// named is a name with what it means now, and how many workflows use any of its versions.
func (g *Gateway) named(name string, count useCount) NamedDefinition {
	now, _ := g.book.Resolve(name) // it has a label
	all := g.book.Versions(name)
	digests := make([]string, 0, len(all))
	for _, v := range all {
		digests = append(digests, v.Digest)
	}
	return NamedDefinition{Version: version(now, count(now.Digest)), Versions: len(all), AllOpen: count(digests...)}
}

func version(e definitions.Entry, open *OpenWorkflows) Version {
	return Version{Name: e.Name, Version: e.Version, Digest: e.Digest, RegisteredAt: runtime.FormatTime(e.Registered), Open: open}
}

// useCount is how many open workflows use any of some definitions; nil while that is not known.
type useCount func(digests ...string) *OpenWorkflows

// useCounts asks the view, which may be about to be made again.
func (g *Gateway) useCounts() (useCount, error) {
	u, err := g.view.Uses(view.MaxScanned)
	if errors.Is(err, view.ErrRemade) {
		return func(...string) *OpenWorkflows { return nil }, nil
	}
	return func(digests ...string) *OpenWorkflows {
		n := &OpenWorkflows{AtLeast: u.Cut}
		for _, d := range digests {
			n.Count += u.Open[d]
		}
		return n
	}, err
}

// syncBook returns when all that was registered before is in the book.
func (g *Gateway) syncBook(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.limits.Answer)
	defer cancel()
	return g.book.Sync(ctx)
}

// listVersions answers with the definitions of a name, newest registration first.
func (g *Gateway) listVersions(w http.ResponseWriter, r *http.Request) error {
	e, err := g.lookup(r)
	if err != nil {
		return err
	}
	count, err := g.useCounts()
	if err != nil {
		return err
	}
	list := List[Version]{Items: []Version{}}
	for _, v := range g.book.Versions(e.Name) {
		list.Items = append(list.Items, version(v, count(v.Digest)))
	}
	return writeJSON(w, r, http.StatusOK, list)
}
