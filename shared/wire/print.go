package wire

import (
	"encoding/base64"
	"encoding/json"
)

// ToJSON renders m as a JSON object with the fields' names, for people and for
// the history; zero fields are left out and user values stand as they are.
func ToJSON(m Message) json.RawMessage {
	p := &printer{}
	p.message(m)
	return p.buf
}

// FieldsJSON is ToJSON without the braces: for callers that add fields of their own.
func FieldsJSON(m Message) []byte {
	b := ToJSON(m)
	return b[1 : len(b)-1]
}

type printer struct{ buf []byte }

func (p *printer) message(m Message) {
	p.buf = append(p.buf, '{')
	c := Codec{mode: printing, out: p}
	m.Fields(&c)
	p.buf = append(p.buf, '}')
}

func (p *printer) name(name string) {
	if last := p.buf[len(p.buf)-1]; last != '{' {
		p.buf = append(p.buf, ',')
	}
	p.quote(name)
	p.buf = append(p.buf, ':')
}

func (p *printer) quote(s string) {
	b, err := json.Marshal(s)
	if err != nil { // a Go string always marshals
		panic(err)
	}
	p.buf = append(p.buf, b...)
}

func (p *printer) plain(text string)     { p.buf = append(p.buf, text...) }
func (p *printer) raw(name, text string) { p.name(name); p.plain(text) }
func (p *printer) text(name, s string)   { p.name(name); p.quote(s) }

func (p *printer) base64(name string, b []byte) {
	p.text(name, base64.RawURLEncoding.EncodeToString(b))
}

// json writes a user value; one that is not JSON (a defect elsewhere) is
// shown as a string instead of breaking the document.
func (p *printer) json(name string, b []byte) {
	if !json.Valid(b) {
		p.text(name, string(b))
		return
	}
	p.name(name)
	p.buf = append(p.buf, b...)
}

func (p *printer) object(name string, m Message) { p.name(name); p.message(m) }

func (p *printer) list(name string, n int, item func(i int, out *printer)) {
	p.name(name)
	p.buf = append(p.buf, '[')
	for i := range n {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		item(i, p)
	}
	p.buf = append(p.buf, ']')
}
