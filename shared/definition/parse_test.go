package definition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// order is the model in both notations.
const orderYAML = `
# an order
name: order-fulfilment
version: "3"
input: {schema: {type: object, required: [lines]}}
components:
  validate: {step: orders.validate}
  review:
    step: orders.review
    in: {order: validate}
    when: >-
      input.order.total > 1000
  invoice:  {step: orders.invoice, in: {order: validate, review: review?}}
  charge:   {step: pay.charge, in: invoice, policy: {preset: io, timeout_ms: 2000}}
  cool:     {sleep: PT5S, after: charge}
  small:    {expr: "{ok: true}", else: review}
  vip:      {condition: "input.order.vip ?? false", in: {order: validate}}
outputs: {invoice: invoice}
policies: [{match: {task: "/^orders\\./"}, max_retries: 3, backoff: exponential}]
options: {max_concurrency: 16, close: on_idle, labels: {team: sales, customer: {"$": input.customer}}}
`

const orderJSON = `{
  "options": {"labels": {"customer": {"$": "input.customer"}, "team": "sales"}, "close": "on_idle", "max_concurrency": 16.0},
  "name": "order-fulfilment", "version": "3",
  "policies": [{"max_retries": 3, "match": {"task": "/^orders\\./"}, "backoff": "exponential"}],
  "input": {"schema": {"type": "object", "required": ["lines"]}},
  "outputs": {"invoice": "invoice"},
  "components": {
    "vip": {"condition": "input.order.vip ?? false", "in": {"order": "validate"}},
    "validate": {"step": "orders.validate"},
    "small": {"expr": "{ok: true}", "else": "review"},
    "cool": {"sleep": "PT5S", "after": "charge"},
    "charge": {"step": "pay.charge", "in": "invoice", "policy": {"timeout_ms": 2000, "preset": "io"}},
    "invoice": {"step": "orders.invoice", "in": {"order": "validate", "review": "review?"}},
    "review": {"step": "orders.review", "in": {"order": "validate"}, "when": "input.order.total > 1000"}
  }
}`

func TestTheDigestIsOfTheModelNotOfItsNotation(t *testing.T) {
	fromYAML, err := definition.Parse([]byte(orderYAML))
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := definition.Parse([]byte(orderJSON))
	if err != nil {
		t.Fatal(err)
	}
	if string(fromYAML.Canonical()) != string(fromJSON.Canonical()) {
		t.Errorf("YAML %s\nJSON %s", fromYAML.Canonical(), fromJSON.Canonical())
	}
	if fromYAML.Digest != fromJSON.Digest || len(fromYAML.Digest) != len("sha256:")+64 || !strings.HasPrefix(fromYAML.Digest, "sha256:") {
		t.Errorf("digests %s and %s", fromYAML.Digest, fromJSON.Digest)
	}
	if fromYAML.Name != "order-fulfilment" || fromYAML.Version != "3" {
		t.Errorf("labels %q and %q", fromYAML.Name, fromYAML.Version)
	}
	again, err := definition.Parse(fromYAML.Canonical())
	if err != nil || again.Digest != fromYAML.Digest {
		t.Errorf("the canonical form gives %v, %v", again, err)
	}
}

func TestAnyDifferenceChangesTheDigest(t *testing.T) {
	base := graph(t, parts("a: {step: x}")).Digest
	for _, src := range []string{parts("a: {step: y}"), parts("a: {step: x, params: {}}"), parts("b: {step: x}"),
		"name: u\ncomponents: {a: {step: x}}", parts("a: {step: x}") + "version: '1'"} {
		if graph(t, src).Digest == base {
			t.Errorf("%s has the digest of the original", src)
		}
	}
}

// The digest of a definition must never change between versions: runs pin it.
func TestADigestIsStable(t *testing.T) {
	const want = "sha256:89279d349e00433a62e868f0fea80b384739fe780bfaead2e19d76f989743a06"
	d, err := definition.Parse([]byte(`{"components":{"a":{"params":{"ä":[1.5,1e20,"<\u0001>",null]},"step":"x"}},"name":"t"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(d.Canonical()); got != `{"components":{"a":{"params":{"ä":[1.5,1e+20,"<\u0001>",null]},"step":"x"}},"name":"t"}` {
		t.Errorf("canonical form %s", got)
	}
	if d.Digest != want {
		t.Errorf("digest %s", d.Digest)
	}
}

func TestYAMLScalarsFollowTheCoreSchema(t *testing.T) {
	src := `
name: t
components:
  a:
    step: x
    params:
      norway: [no, NO, off, on, yes, y, n]
      bools: [true, True, FALSE]
      nulls: [null, ~, Null, ]
      ints: [012, 0o14, 0xC, +12, -0, 1_000, 0b11]
      floats: [1.50, 1e3, .5, -2.E-1, 007.5]
      texts: ["12", '012', 2026-01-02, 1:30, 1.2.3, !!str 12, 12e]
      tagged: [!!int 12, !!float 2, !!null ~]
      block: |
        one
        two
      folded: >-
        one
        two
      plain: one
        two
      no: key
      quoted: "tab\t\u00e4"
      anchor: &it {k: 1}
      alias: *it
`
	want := `{"alias":{"k":1},"anchor":{"k":1},"block":"one\ntwo\n","bools":[true,true,false],"floats":[1.5,1000,0.5,-0.2,7.5],` +
		`"folded":"one two","ints":[12,12,12,12,0,"1_000","0b11"],"no":"key","norway":["no","NO","off","on","yes","y","n"],` +
		`"nulls":[null,null,null],"plain":"one two","quoted":"tab\tä","tagged":[12,2,null],` +
		`"texts":["12","012","2026-01-02","1:30","1.2.3","12","12e"]}`
	d, err := definition.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Components struct {
			A struct{ Params json.RawMessage }
		}
	}
	if err := json.Unmarshal(d.Canonical(), &got); err != nil || string(got.Components.A.Params) != want {
		t.Errorf("got  %s\nwant %s", got.Components.A.Params, want)
	}
}

func TestFlowYAMLThatLooksLikeJSONIsRead(t *testing.T) {
	if g := graph(t, `{name: t, components: {a: {step: x}}} # a comment`); len(g.Components) != 1 {
		t.Errorf("%d components", len(g.Components))
	}
}

func TestAnEmptyWorkflowIsLegal(t *testing.T) { // A12
	g := graph(t, "name: t\ncomponents: {}")
	if len(g.Components)+len(g.Roots)+len(g.Outputs) != 0 {
		t.Errorf("%+v", g)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(orderYAML))
	f.Add([]byte(orderJSON))
	f.Add([]byte(parts("b: {condition: input}, c: {step: x, else: b}, n: {step: x, after: {any: [b, c]}}, j: {step: x, after: [n, b?]}")))
	f.Add([]byte("a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f]\n"))
	f.Add([]byte("a: &a [*a]\nb: !!str {? x : y, <<: *a}\n--- |\n x"))
	f.Fuzz(func(t *testing.T, src []byte) {
		var d *definition.Definition
		var err error
		wiretest.Bounded(t, len(src), 4<<10, 8<<20, func() { d, err = definition.Parse(src) })
		if err != nil {
			return
		}
		again, err := definition.Parse(d.Canonical())
		if err != nil || again.Digest != d.Digest {
			t.Fatalf("%q: the canonical form %s gives %v", src, d.Canonical(), err)
		}
		if _, err := definition.Compile(again); err != nil {
			t.Fatal(err)
		}
	})
}
