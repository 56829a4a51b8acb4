package definition

import "testing"

func TestSmoke(t *testing.T) {
	d, err := Parse([]byte(`
name: order-fulfilment
version: "3"
input: {schema: {type: object, required: [lines], properties: {vip: {default: no}}}}
components:
  validate: {step: orders.validate}
  review:   {step: orders.review, in: {order: validate}, when: "input.order.total > 1000"}
  invoice:  {step: orders.invoice, in: {order: validate, review: review?}}
  charge:   {step: pay.charge, in: invoice, policy: io}
  small: {expr: "input", else: review}
  wait: {sleep: 5s, after: {any: [small, review]}}
  j: {step: foo, after: [wait, charge]}
outputs: {invoice: invoice}
policies: [{match: {task: "/^orders\\./"}, max_retries: 3, backoff: exponential}]
options: {max_concurrency: 16, close: on_idle}
`))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(string(d.Canonical()), d.Digest)
	g, err := Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range g.Components {
		p, err := g.PolicyFor(c, nil, Given{})
		t.Logf("%s %v arms %v children %v single %v leaf %v queue %q %+v %v", c.Name, c.Kind, c.Arms, c.Children, c.Single, c.Leaf, c.Queue, p, err)
	}
	t.Log(Mermaid(g, nil))
	in, err := g.AcceptInput([]byte(`{"lines":[]}`))
	t.Log(string(in), err)
	_, err = g.AcceptInput([]byte(`{"lines_":[]}`))
	t.Log(err)
	_, err = Parse([]byte(`{"name": "x", "components": {"a": {"map": "input"}, "b": {"step": "x", "after": "aa"}, "c": {"step": "a.b", "after": "d"}, "d": {"expr": "1 +", "after": ["c"], "else": "a"}, "e": {"foo": 2}}, "zzz": 3}`))
	t.Log(err)
}
