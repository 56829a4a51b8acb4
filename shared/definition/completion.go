package definition

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"

	"github.com/heddle-run/heddle/shared/policy"
)

// Completion says where it is told that a workflow has drained: the option on_complete.
// The status topic is always told where the option is given.
type Completion struct {
	Topic string          // of another system; empty: none
	URL   string          // of an HTTP receiver; empty: none
	Args  json.RawMessage // what receivers get as it is; nil: nothing
}

const (
	completionFields = "args, topic, url"
	completionShape  = `write on_complete: {topic: orders.done} or {url: "https://shop.example/done"}`
	maxURL           = 2048
	maxArgs          = 16 << 10
)

// topicShape is what Kafka takes as a topic's name, beside "." and "..".
var topicShape = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

func (r *decoder) completion(path string, v any) *Completion {
	object := r.object(path, v, completionShape)
	c := &Completion{}
	for _, field := range sortedKeys(object) {
		at, v := join(path, field), object[field]
		switch field {
		case "topic":
			c.Topic = r.text(at, v, topicShape, "letters, digits, '.', '_' and '-', at most 249")
			if c.Topic == "." || c.Topic == ".." {
				r.fail(at, fmt.Sprintf("%q is no name of a topic", c.Topic), "")
			}
		case "url":
			c.URL = r.receiver(at, v)
		case "args":
			c.Args = r.literal(at, v, "write the values; what is computed belongs into labels or outputs")
			if len(c.Args) > maxArgs {
				r.fail(at, fmt.Sprintf("has more than %d bytes as JSON", maxArgs), "")
			}
		default:
			r.fail(at, "unknown field", policy.Known(field, completionFields))
		}
	}
	return c
}

// receiver reads where a callback goes. Whether the host is allowed is for the settings of
// the executor that calls it.
func (r *decoder) receiver(path string, v any) string {
	s, _ := v.(string)
	u, err := url.Parse(s)
	switch {
	case s == "" || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		r.fail(path, show(v)+" is no absolute URL of http or https", completionShape)
	case len(s) > maxURL:
		r.fail(path, fmt.Sprintf("has more than %d bytes", maxURL), "")
	case u.User != nil:
		r.fail(path, "has a user's name or password, which every reader of the definition would see", "let the receiver know its callers otherwise")
	case u.Fragment != "":
		r.fail(path, "has a fragment, which is never sent", "remove what begins with #")
	}
	return s
}
