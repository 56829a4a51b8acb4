package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/heddle-run/heddle/internal/history"
)

const mermaidType = "text/vnd.mermaid"

// workflowGraph is the graph that a run is pinned to, with live status.
func (g *Gateway) workflowGraph(w http.ResponseWriter, r *http.Request) error {
	body, err := g.read(r, "graph")
	if err != nil {
		return err
	}
	graph, err := history.ParseGraph(body)
	if err != nil {
		return err
	}
	return writeGraph(w, r, graph.Mermaid, graph.JSON)
}

// writeGraph answers in the form that ?format= or the Accept header asks for;
// JSON unless it is something else.
func writeGraph(w http.ResponseWriter, r *http.Request, mermaid func() string, asJSON func() ([]byte, error)) error {
	format := r.URL.Query().Get("format")
	if format == "" && (strings.Contains(r.Header.Get("Accept"), "mermaid") || strings.HasPrefix(r.Header.Get("Accept"), "text/plain")) {
		format = "mermaid"
	}
	switch format {
	case "mermaid":
		writeBytes(w, r, http.StatusOK, mermaidType+"; charset=utf-8", []byte(mermaid()))
		return nil
	case "", "json":
		b, err := asJSON()
		if err != nil {
			return err
		}
		writeBytes(w, r, http.StatusOK, "application/json", b)
		return nil
	}
	return refuseField("invalid_parameter", "format", fmt.Sprintf("%q is not mermaid or json", format))
}
