package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"github.com/heddle-run/heddle/internal/runtime"
)

// homePage is what a browser finds at the root. It loads nothing from elsewhere.
var homePage = template.Must(template.New("home").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heddle</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top; border-bottom: 1px solid #8884 }
</style>
</head>
<body>
<h1>Heddle</h1>
<p>This is the HTTP API of a Heddle deployment, which runs durable workflows on Kafka.</p>
<ul>
<li><a href="/openapi.json">/openapi.json</a> describes all routes (OpenAPI 3.1).</li>
<li><a href="/schemas/definition.json">/schemas/definition.json</a> is the JSON Schema of definitions,
<a href="/schemas/heddle.proto">/schemas/heddle.proto</a> has the records on Kafka.</li>
<li><a href="/v1/definitions">/v1/definitions</a> lists what is registered, <a href="/v1/workflows">/v1/workflows</a> what runs,
<a href="/v1/readiness">/v1/readiness</a> the state below as JSON.</li>
<li>The <a href="https://github.com/heddle-run/heddle/tree/main/docs" rel="noreferrer">documents</a> are in the repository.</li>
</ul>
<h2>Partitions</h2>
{{if .Refused}}<p>{{.Refused}}</p>{{else}}<p>{{if .Ready}}All are ready.{{else}}Not all are ready.{{end}}</p>
{{range .Reasons}}<p>{{.}}</p>
{{end}}{{if .Partitions}}<table>
<thead><tr><th scope="col">Partition</th><th scope="col">State</th><th scope="col">Owner</th><th scope="col">Why not</th></tr></thead>
<tbody>
{{range .Partitions}}<tr><td>{{.Number}}</td><td>{{.State}}</td><td>{{.Owner}}</td><td>{{range .Reasons}}{{.}}<br>{{end}}</td></tr>
{{end}}</tbody>
</table>{{end}}{{end}}
</body>
</html>
`))

// home is what the page shows.
type home struct {
	Refused    string // why the partitions are not shown; empty: they are
	Ready      bool
	Reasons    []string // of no partition
	Partitions []homePartition
}

// homePartition is a line of the page.
type homePartition struct {
	Number  int32
	State   string
	Owner   string
	Reasons []string
}

// getHome answers with the page. Anybody may have it; the partitions' state is for
// those who may read.
func (g *Gateway) getHome(w http.ResponseWriter, r *http.Request) error {
	page := home{}
	if err := g.authorize(r, Read); err != nil {
		page.Refused = "Their state is shown to those who give an API key: Authorization: Bearer KEY."
	} else {
		g.partitionsOf(&page, time.Now())
	}
	var b bytes.Buffer
	if err := homePage.Execute(&b, page); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeBytes(w, r, http.StatusOK, "text/html; charset=utf-8", b.Bytes())
	return nil
}

// partitionsOf adds what is known of each partition.
func (g *Gateway) partitionsOf(page *home, now time.Time) {
	if why := g.silence(now); why != "" {
		page.Reasons = []string{why}
		return
	}
	rec, _ := g.follow.shown(runtime.AggregateKey)
	var all runtime.Aggregate
	if err := json.Unmarshal(rec.value, &all); err != nil {
		page.Reasons = []string{"the readiness record cannot be read: " + err.Error()}
		return
	}
	page.Ready = all.Ready
	for _, p := range all.Partitions {
		line := homePartition{Number: p.Partition, State: "not ready", Reasons: p.Readiness.Reasons}
		if p.Readiness.Ready {
			line.State = "ready"
		}
		if p.Authority.Owner != nil {
			line.Owner = *p.Authority.Owner
		}
		page.Partitions = append(page.Partitions, line)
	}
}
