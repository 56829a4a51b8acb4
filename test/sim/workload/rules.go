package workload

import (
	"encoding/json"
	"maps"
)

// Rules is a list of rules of policies, as a definition, a run, a resume or an
// input gives it.
type Rules []rule

// rule gives fields to the components that it fits.
type rule struct {
	match   any // as it is written; nil: the component's own policy
	fits    func(c *Component) verdict
	inherit bool
	fields  fields
}

// verdict reports whether a rule fits a component.
type verdict int

const (
	no verdict = iota
	yes
	perhaps // it looks at the input
)

// fields are those of a policy, as they are written.
type fields map[string]any

// spec is what a definition or a command says.
func (r *rule) spec() map[string]any {
	out := map[string]any{}
	if r.match != nil {
		out["match"] = r.match
	}
	if r.inherit {
		out["inherit"] = true
	}
	maps.Copy(out, r.fields)
	return out
}

// own is what a component itself says; nothing if there is nothing to say.
func own(inherit bool, f fields) Rules {
	if len(f) == 0 && !inherit {
		return nil
	}
	return Rules{{fits: fitsAll, inherit: inherit, fields: f}}
}

func fitsAll(*Component) verdict { return yes }

// MarshalJSON implements json.Marshaler.
func (rs Rules) MarshalJSON() ([]byte, error) {
	list := make([]any, len(rs))
	for i := range rs {
		list[i] = rs[i].spec()
	}
	return json.Marshal(list)
}

// Said is the list as a command gives it; nil if there is none.
func (rs Rules) Said() any {
	if len(rs) == 0 {
		return nil
	}
	return rs
}

// text is the list as the journal keeps it; empty if there is none.
func (rs Rules) text() string {
	if len(rs) == 0 {
		return ""
	}
	b, err := json.Marshal(rs)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// with are the fields and those of others that are open.
func (f fields) with(more fields) fields {
	out := maps.Clone(more)
	maps.Copy(out, f)
	return out
}
