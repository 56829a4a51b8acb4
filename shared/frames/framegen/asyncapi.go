package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
)

// head is what stands before the messages: the rules that no schema says.
//
//go:embed head.yaml
var head string

// asyncAPI is the document; the comments are those of the sources in dir.
func asyncAPI(dir string) (string, error) {
	c, err := readComments(dir)
	if err != nil {
		return "", err
	}
	d := &document{comments: c}
	d.WriteString(head)
	d.closes()
	shapes := wire.Shapes(&frames.FrameToServer{}, &frames.FrameToClient{})
	d.members = map[string]string{}
	for _, s := range shapes {
		for _, m := range s.Members {
			d.members[m.Shape] = m.Name
		}
	}
	both := frameMembers(shapes)
	d.channel(both)
	d.WriteString("components:\n  securitySchemes:\n    bearer:\n      type: http\n      scheme: bearer\n  messages:\n")
	for _, m := range both {
		d.line(2, m.Name+":")
		d.line(3, "summary: "+quote(firstSentence(c.types[m.Shape])))
		d.line(3, "contentType: application/json")
		d.line(3, "payload:")
		d.line(4, "$ref: "+quote("#/components/schemas/"+m.Shape))
	}
	d.WriteString("  schemas:\n")
	for _, s := range shapes {
		if err := d.schema(s); err != nil {
			return "", err
		}
	}
	return d.String(), nil
}

// document is the text so far.
type document struct {
	strings.Builder
	comments *comments
	members  map[string]string // the "type" of a message that is a member of a union
}

func (d *document) line(depth int, text string) {
	d.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// closes lists how sockets are closed, and the limits.
func (d *document) closes() {
	d.line(0, "x-close:")
	for _, c := range frames.Closes() {
		d.line(1, fmt.Sprintf("- {code: %d, reason: %q, final: %v}", c.Code, c.Reason, c.Final()))
	}
	d.line(0, "x-limits:")
	for _, l := range limits {
		d.line(1, fmt.Sprintf("%s: %d", l.name, l.value))
	}
}

// limits are those that hold unless a setting says otherwise.
var limits = []struct {
	name  string
	value int
}{
	{"maxPayload", frames.DefaultMaxPayload}, {"maxSlots", frames.MaxSlots}, {"maxName", frames.MaxName}, {"maxTaskNames", frames.MaxTaskNames},
	{"maxMetadata", frames.MaxMetadata}, {"maxToken", frames.MaxToken}, {"maxKvKeys", frames.MaxKvKeys}, {"maxKvKey", frames.MaxKvKey},
	{"maxKvValue", frames.MaxKvValue}, {"maxTunnelBody", frames.MaxTunnelBody},
	{"tunnelWindow", frames.TunnelWindow}, {"tunnelMessages", frames.TunnelMessages}, {"maxTunnelHeaders", frames.MaxTunnelHeaders},
	{"maxTunnelPath", frames.MaxTunnelPath}, {"maxTunnels", frames.MaxTunnels},
}

// frameMembers are the frames of both directions.
func frameMembers(shapes []wire.Shape) []wire.Member {
	var all []wire.Member
	for _, s := range shapes {
		if s.Name == "FrameToServer" || s.Name == "FrameToClient" {
			all = append(all, s.Members...)
		}
	}
	return all
}

// channel is where the frames go, and who sends which.
func (d *document) channel(all []wire.Member) {
	d.WriteString("channels:\n  runner:\n")
	d.line(2, "address: "+quote(frames.Path))
	d.line(2, "bindings:\n      ws:\n        method: GET\n        query:\n          type: object")
	d.line(5, fmt.Sprintf("required: [%s, %s, %s]", frames.QueryVersion, frames.QueryPool, frames.QueryKey))
	d.line(5, "properties:")
	d.line(6, fmt.Sprintf("%s: {type: integer, const: %d}", frames.QueryVersion, frames.ProtocolVersion))
	d.line(6, fmt.Sprintf("%s: {type: string, minLength: 1, maxLength: %d}", frames.QueryPool, frames.MaxName))
	d.line(6, fmt.Sprintf("%s: {type: string, minLength: 1, maxLength: %d}", frames.QueryKey, frames.MaxName))
	d.line(6, fmt.Sprintf("%s: {type: string, enum: [%s, %s], default: %s}", frames.QueryEncoding, frames.JSON, frames.Binary, frames.JSON))
	d.line(2, "messages:")
	for _, m := range all {
		d.line(3, fmt.Sprintf("%s: {$ref: \"#/components/messages/%s\"}", m.Name, m.Name))
	}
	d.WriteString("operations:\n")
	for _, o := range []struct{ name, action, prefix string }{{"toServer", "send", "ToServer"}, {"toClient", "receive", "ToClient"}} {
		d.line(1, o.name+":")
		d.line(2, "action: "+o.action)
		d.line(2, "channel: {$ref: \"#/channels/runner\"}")
		d.line(2, "messages:")
		for _, m := range all {
			if strings.HasPrefix(m.Name, o.prefix) {
				d.line(3, fmt.Sprintf("- {$ref: \"#/channels/runner/messages/%s\"}", m.Name))
			}
		}
	}
}

// schema is a message in JSON: an object, or one of several.
func (d *document) schema(s wire.Shape) error {
	d.line(2, s.Name+":")
	if text := d.comments.types[s.Name]; text != "" {
		d.line(3, "description: "+quote(text))
	}
	if len(s.Members) > 0 {
		d.line(3, "oneOf:")
		for _, m := range s.Members {
			d.line(4, fmt.Sprintf("- {$ref: \"#/components/schemas/%s\"}", m.Shape))
		}
		return nil
	}
	d.line(3, "type: object")
	d.line(3, "additionalProperties: false")
	typ := d.members[s.Name]
	if required := requiredOf(s, typ); len(required) > 0 {
		d.line(3, "required: ["+strings.Join(required, ", ")+"]")
	}
	if typ == "" && len(s.Fields) == 0 {
		return nil
	}
	d.line(3, "properties:")
	if typ != "" {
		d.line(4, "type: {const: "+typ+"}")
	}
	for _, f := range s.Fields {
		text, err := d.comments.field(s.Name, f.Name)
		if err != nil {
			return err
		}
		d.line(4, f.Name+":")
		if text != "" {
			d.line(5, "description: "+quote(text))
		}
		d.property(f)
	}
	return nil
}

// requiredOf are the fields that a message always has.
func requiredOf(s wire.Shape, typ string) []string {
	var all []string
	if typ != "" {
		all = append(all, "type")
	}
	for _, f := range s.Fields {
		if f.Always && !f.Null {
			all = append(all, f.Name)
		}
	}
	return all
}

// property is what values a field has.
func (d *document) property(f wire.Field) {
	depth := 5
	if f.Label == "repeated " {
		d.line(depth, "type: array")
		d.line(depth, "items:")
		depth++
	}
	switch f.JSON {
	case wire.KindObject:
		d.line(depth, fmt.Sprintf("$ref: \"#/components/schemas/%s\"", f.Proto))
	case wire.KindInteger:
		typ := "integer"
		if f.Null {
			typ = `[integer, "null"]`
		}
		d.line(depth, "type: "+typ)
		d.line(depth, fmt.Sprintf("minimum: %d", f.Least))
		d.line(depth, fmt.Sprintf("maximum: %d", f.Most))
	case wire.KindBoolean:
		d.line(depth, "type: boolean")
		d.line(depth, "default: false")
	case wire.KindDefault:
		d.line(depth, "type: boolean")
		d.line(depth, "default: true")
	case wire.KindText:
		d.line(depth, "type: string")
	case wire.KindBytes:
		d.line(depth, "type: string")
		d.line(depth, "contentEncoding: base64url")
		d.line(depth, `pattern: "^[A-Za-z0-9_-]*$"`)
	case wire.KindValue:
		d.line(depth, "x-value: any JSON")
	case wire.KindPairs:
		d.line(depth, "type: object")
		d.line(depth, "additionalProperties: true")
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil { // a Go string always marshals
		panic(err)
	}
	return string(b)
}

func firstSentence(s string) string {
	first, _, _ := strings.Cut(s, ". ")
	return strings.TrimSuffix(first, ".")
}
