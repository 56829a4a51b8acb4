package search

import (
	"strings"
	"time"
)

// Workflow is what a filter looks at.
type Workflow struct {
	ID, Status            string
	Name, Version, Digest string // of the definition
	Labels                map[string]string
	Failures              []Failure // that its summary shows
	Created, Updated      time.Time
}

// Failure is what failed in a workflow.
type Failure struct{ Component, Type, Message string }

// Matcher is a filter that is made ready to look at many workflows.
type Matcher struct {
	f                     Filter
	name, version, digest string
	words                 []string // in lower case
}

// Matcher makes the filter ready.
func (f Filter) Matcher() *Matcher {
	m := &Matcher{f: f, words: strings.Fields(strings.ToLower(f.Text))}
	m.name, m.version, m.digest = SplitDefinition(f.Definition)
	return m
}

// Name is the definition's name that a workflow must have; empty: any.
func (m *Matcher) Name() string { return m.name }

// Brief reports whether the filter looks at nothing but the status, the definition's name,
// and when a workflow was created.
func (m *Matcher) Brief() bool {
	f := &m.f
	return m.version == "" && m.digest == "" && len(f.Labels) == 0 && f.Error == "" && f.Component == "" &&
		len(m.words) == 0 && f.UpdatedAfter.IsZero() && f.UpdatedBefore.IsZero()
}

// SplitDefinition takes a name, name@version or digest apart.
func SplitDefinition(ref string) (name, version, digest string) {
	if strings.HasPrefix(ref, "sha256:") {
		return "", "", ref
	}
	name, version, _ = strings.Cut(ref, "@")
	return name, version, ""
}

// Fits reports whether the filter chooses a workflow.
func (m *Matcher) Fits(w *Workflow) bool {
	f := &m.f
	return is(f.Status, w.Status) && is(m.name, w.Name) && is(m.version, w.Version) && is(m.digest, w.Digest) &&
		within(w.Created, f.CreatedAfter, f.CreatedBefore) && within(w.Updated, f.UpdatedAfter, f.UpdatedBefore) &&
		m.fitsLabels(w.Labels) && m.fitsFailure(w.Failures) && m.fitsText(w)
}

func is(want, has string) bool { return want == "" || want == has }

func within(t, after, before time.Time) bool {
	return (after.IsZero() || t.After(after)) && (before.IsZero() || t.Before(before))
}

func (m *Matcher) fitsLabels(labels map[string]string) bool {
	for name, want := range m.f.Labels { // order: all of them must fit
		if has, ok := labels[name]; !ok || has != want {
			return false
		}
	}
	return true
}

func (m *Matcher) fitsFailure(all []Failure) bool {
	if m.f.Error == "" && m.f.Component == "" {
		return true
	}
	for _, f := range all {
		if is(m.f.Error, f.Type) && is(m.f.Component, f.Component) {
			return true
		}
	}
	return false
}

// fitsText looks for each word in each text.
func (m *Matcher) fitsText(w *Workflow) bool {
	if len(m.words) == 0 {
		return true
	}
	texts := append(make([]string, 0, 2+len(w.Labels)+3*len(w.Failures)), w.ID, w.Name)
	for name, value := range w.Labels { // order: whether one of them has a word
		texts = append(texts, name+"="+value)
	}
	for _, f := range w.Failures {
		texts = append(texts, f.Component, f.Type, f.Message)
	}
	for i := range texts {
		texts[i] = strings.ToLower(texts[i])
	}
	for _, word := range m.words {
		if !occurs(word, texts) {
			return false
		}
	}
	return true
}

func occurs(word string, texts []string) bool {
	for _, text := range texts {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}
