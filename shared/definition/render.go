package definition

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// Mermaid draws the graph as a Mermaid flowchart. status, if not nil, gives the live status of a component by index
// (such as "active"; empty = none), which becomes the class of its node.
func Mermaid(g *Graph, status func(i int) string) string {
	if live := status; live != nil {
		status = func(i int) string {
			if s := live(i); g.Components[i].Join != Part || s != NotTaken {
				return s
			}
			return "" // no branch leads to a reminder: it has not run yet, or never did
		}
	}
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	if len(g.Roots) > 0 {
		b.WriteString("  input([input])\n")
	}
	g.mermaidNodes(&b, -1, "  ", status)
	for _, root := range g.Roots {
		fmt.Fprintf(&b, "  input --> c%d\n", root)
	}
	for _, c := range g.Components {
		for i, arm := range c.Arms {
			if c.Join == Fold && i > 0 {
				continue // that the map is over: its body is drawn
			}
			fmt.Fprintf(&b, "  c%d %s c%d\n", arm.Component, mermaidEdge(c, i), c.Index)
		}
	}
	if status != nil {
		mermaidStatus(&b, g, status)
	}
	return b.String()
}

// mermaidNodes draws the components of a body, or those in none, with the bodies in it.
func (g *Graph) mermaidNodes(b *strings.Builder, within int, indent string, status func(i int) string) {
	for _, c := range g.Components {
		if c.Within != within || c.Gone {
			continue
		}
		untaken := status != nil && status(c.Index) == NotTaken
		fmt.Fprintf(b, "%sc%d%s\n", indent, c.Index, mermaidNode(c, untaken))
		if c.Each != nil {
			fmt.Fprintf(b, "%ssubgraph s%d[\"%s\"]\n", indent, c.Index, mermaidText("each of "+c.Local()))
			g.mermaidNodes(b, c.Index, indent+"  ", status)
			fmt.Fprintf(b, "%send\n", indent)
		}
	}
}

// NotTaken is the status of a component whose branch was not taken.
const NotTaken = "not_taken"

// mermaidNode is the shape and label of a component. That one was not taken is said
// in words: its colour is that of others too.
func mermaidNode(c *Component, untaken bool) string {
	shape, label := kinds[c.Kind].shape, mermaidText(c.Local())
	if c.Task != "" {
		label += "<br/>" + mermaidText(c.Task)
	}
	if untaken {
		label += "<br/>not taken"
	}
	return shape[0] + `"` + label + `"` + shape[1]
}

// mermaidEdge is the arrow to arm i of c: dotted if optional, labelled with its name or as else.
func mermaidEdge(c *Component, i int) string {
	arm := c.Arms[i]
	arrow, label := "-->", ""
	switch {
	case i >= c.Own():
		label = "if"
	case c.Join == Else, c.Join == Catch, c.Join == Part:
		label = c.Join.String()
	case c.Join == First:
		label = fmt.Sprintf("first %d of %d", c.Count, len(c.Arms))
	case c.Join == Named:
		label = arm.Name
	case c.When != nil:
		label = "when"
	}
	if arm.Optional {
		arrow = "-.->"
	}
	if label != "" {
		arrow += `|"` + mermaidText(label) + `"|`
	}
	return arrow
}

// mermaidText is a text in a label. Letters and digits stand as they are, and what
// joins two of them in names. All else is written as an entity: Mermaid could read it as
// a quote, HTML, Markdown (a list, a link, emphasis) or an entity of its own.
func mermaidText(s string) string {
	var b strings.Builder
	text := []rune(s)
	plain := func(i int) bool {
		return i >= 0 && i < len(text) && (unicode.IsLetter(text[i]) || unicode.IsDigit(text[i]))
	}
	for i, c := range text {
		joins := plain(i-1) && plain(i+1) && strings.ContainsRune(" ./-_", c)
		link := c == '.' && strings.HasSuffix(strings.ToLower(string(text[:i])), "www")
		if plain(i) || joins && !link {
			b.WriteRune(c)
			continue
		}
		fmt.Fprintf(&b, "#%d;", c)
	}
	return b.String()
}

// statusColours are the fills of the statuses that a component can have; others are drawn without.
var statusColours = [...][2]string{
	{"active", "#1d76db"}, {"cancelled", "#8b949e"}, {"completed", "#1a7f37"}, {"failed", "#cf222e"},
	{NotTaken, "#d0d7de"}, {"ready", "#54aeff"}, {"skipped", "#bf8700"}, {"suppressed", "#d0d7de"},
	{"uncertain", "#8250df"}, {"waiting", "#d4a72c"},
}

func mermaidStatus(b *strings.Builder, g *Graph, status func(i int) string) {
	for _, colour := range statusColours {
		fmt.Fprintf(b, "  classDef %s fill:%s\n", colour[0], colour[1])
	}
	for _, c := range g.Components {
		if c.Gone {
			continue
		}
		s := status(c.Index)
		for _, colour := range statusColours {
			if colour[0] == s {
				fmt.Fprintf(b, "  class c%d %s\n", c.Index, s)
			}
		}
	}
}

// Rendering is the graph as JSON for programs and pages.
type Rendering struct {
	Digest     string            `json:"digest"`
	Name       string            `json:"name"`
	Version    string            `json:"version,omitempty"`
	Components []RenderedNode    `json:"components"`
	Edges      []RenderedEdge    `json:"edges"`
	Outputs    map[string]string `json:"outputs"`
}

// RenderedNode is one component.
type RenderedNode struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Task   string `json:"task,omitempty"`
	Queue  string `json:"queue,omitempty"`
	Join   string `json:"join"`
	Within string `json:"within,omitempty"` // the map in whose body it is
	When   string `json:"when,omitempty"`
	Expr   string `json:"expr,omitempty"`
	Status string `json:"status,omitempty"`
}

// RenderedEdge leads from one component to another; From is empty where the input feeds it.
type RenderedEdge struct {
	From     string `json:"from,omitempty"`
	To       string `json:"to"`
	Arm      string `json:"arm,omitempty"`
	Optional bool   `json:"optional,omitempty"`
	Else     bool   `json:"else,omitempty"`
	Catch    bool   `json:"catch,omitempty"`
	If       bool   `json:"if,omitempty"` // From is a condition that the rule To asks for
}

// String is the name of the join in renderings.
func (j Join) String() string {
	return [...]string{Root: "root", Single: "single", List: "list", Named: "named", Any: "any", Else: "else", Catch: "catch", First: "first", Fold: "fold", Part: "part"}[j]
}

// Render is the graph as JSON. status is as for Mermaid.
func (g *Graph) Render(status func(i int) string) Rendering {
	r := Rendering{Digest: g.Digest, Name: g.Name, Version: g.Version,
		Components: []RenderedNode{}, Edges: []RenderedEdge{}, Outputs: map[string]string{}}
	for _, c := range g.Components {
		if c.Gone {
			continue
		}
		n := RenderedNode{Name: c.Name, Kind: c.Kind.String(), Task: c.Task, Queue: c.Queue, Join: c.Join.String()}
		if c.Within >= 0 {
			n.Within = g.Components[c.Within].Name
		}
		if c.When != nil {
			n.When = c.When.Source()
		}
		if c.Guard != nil {
			n.When = c.Guard.Source()
		}
		if c.Expr != nil {
			n.Expr = c.Expr.Source()
		}
		if status != nil {
			n.Status = status(c.Index)
		}
		r.Components = append(r.Components, n)
		if c.Join == Root && len(c.Arms) == 0 {
			r.Edges = append(r.Edges, RenderedEdge{To: c.Name})
		}
		for i, arm := range c.Arms {
			if c.Join == Fold && i > 0 {
				continue
			}
			r.Edges = append(r.Edges, RenderedEdge{
				g.Components[arm.Component].Name, c.Name, arm.Name, arm.Optional, c.Join == Else, c.Join == Catch, i >= c.Own(),
			})
		}
	}
	for _, o := range g.Outputs {
		r.Outputs[o.Name] = g.Components[o.Component].Name
	}
	return r
}

// JSON is Render without status, encoded.
func (g *Graph) JSON() ([]byte, error) {
	b, err := json.Marshal(g.Render(nil))
	if err != nil {
		return nil, fmt.Errorf("encode graph: %w", err)
	}
	return b, nil
}
