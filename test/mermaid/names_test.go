package mermaid

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

var statuses = []string{"active", "cancelled", "completed", "failed", "not_taken", "ready", "skipped", "suppressed", "waiting"}

const kindsAndJoins = `
name: all
components:
  a: {step: orders.a}
  b: {condition: "input > 1", after: a}
  c: {sleep: 5s, after: b}
  d: {expr: input, else: b}
  e: {step: x, in: {left: c?, right: d?}, when: "true"}
  f: {step: x, after: {any: [c, d]}}
  g: {step: x, after: [a, e]}
  h: {step: x, after: a, when: "input > 1"}
  m: {map: input, after: a, do: {n: {map: input, do: {x: {step: x, in: {of: n, f: a}}}}, y: {step: end}}}
  r: {reduce: m.y, with: acc}
`

// words mean something to Mermaid, to HTML or to JavaScript.
var words = []string{
	"end", "graph", "flowchart", "subgraph", "class", "classDef", "style", "linkStyle", "click", "call", "href", "default",
	"direction", "TD", "LR", "o", "x", "v", "input", "c0", "c1", "undefined", "null", "constructor", "__proto__", "toString",
	"_x_", "__x__", "_", "a-", "a--b", "a_b_c", "www", "script",
}

// components is a definition whose components have the names.
func components(names []string) string {
	var b strings.Builder
	b.WriteString("name: words\ncomponents:\n")
	for _, name := range names {
		fmt.Fprintf(&b, "  %q: {expr: input}\n", name)
	}
	return b.String()
}

// tasks is a definition whose steps have tasks of all shapes.
func tasks() string {
	var b strings.Builder
	b.WriteString("name: tasks\ncomponents:\n")
	for i, task := range []string{
		"orders.charge", "end", "1.a", "1.", "a-b", "a--b", "_x_", "a/b:c", "http://example.com/a", "https://example.com", "www.example.com",
		"WWW.example.com", "a://b", "a.b.c/d-e_f:1", "0", "style", strings.Repeat("long.", 50),
	} {
		fmt.Fprintf(&b, "  t%d: {step: %q, queue: q}\n", i, task)
	}
	return b.String()
}

// hostile are names of arms, which may be any text.
var hostile = append([]string{
	" ", "  a  b ", "a\nb", "a\r\nb", "a\tb", `"`, `""`, `a"b`, "'", "`", "`md`", "``", "\\", `\"`, `\n`,
	"]", "[", "[[x]]", "{x}", "}", "(x)", ")", "((", "|", "||", "a|b", "-->", "--x", "-.->", "==>", "~~~", "&", "a & b", ";", "a;b",
	"#", "#quot;", "#35;", "#9829;", "#x;", "&amp;", "&#35;", "&lt;b&gt;", "<b>x</b>", "<br/>", "<br>", "</div>", "<script>alert(1)</script>",
	"<img src=x onerror=alert(1)>", "%%", "%% comment", "%%{init: {'theme':'dark'}}%%", "%%{", "---", "---\ntitle: x\n---", ":::", ":::cls", "@{ shape: x }", "@",
	"1. first", "1) first", "- item", "* item", "+ item", "# head", "> quote", "***", "_x_", "__x__", "*x*", "**x**", "~~x~~", "[a](b)", "![a](b)", "a_b", "_a b_",
	"https://example.com/?a=b&c=d", "www.example.com", "me@example.com", "fa:fa-car", "$$x^2$$", "$x$", "$", "^", "!", "?", "a?", "=", "+", "*", "~", ",", ".", "..", "/", ":", "<", ">",
	"é", "ü", "日本語", "שלום", "مرحبا", "🙂", "👩‍👩‍👧", "e\u0301", "\u202eabc", "\u200b", "\u00a0", "\ufeff", "\u2028", "\u007f", "\u0001",
}, words...)

// arms is a definition with a join whose arms have the names.
func arms(names []string) string {
	in := map[string]string{}
	parts := map[string]any{}
	for i, name := range names {
		in[name] = fmt.Sprintf("a%d", i)
		parts[in[name]] = map[string]any{"step": "x"}
	}
	parts["j"] = map[string]any{"step": "y", "in": in}
	b, err := json.Marshal(map[string]any{"name": "arms", "components": parts})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// garbled are names put together of pieces of the hostile ones.
func garbled(rnd *rand.Rand) []string {
	alphabet := []rune(strings.Join(hostile, "") + "aaa    ")
	names := make([]string, 12)
	for i := range names {
		name := make([]rune, 1+rnd.IntN(12))
		for j := range name {
			name[j] = alphabet[rnd.IntN(len(alphabet))]
		}
		names[i] = string(name)
	}
	return names
}
