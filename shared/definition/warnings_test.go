package definition_test

import (
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

// two are components of which the second has a policy of its own.
const two = "a: {step: f.x}, b: {step: g.y, after: a, policy: {max_retries: 1}}"

func TestWhatLooksLikeAMistakeIsWarnedAbout(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{parts("a: {step: x}, b: {step: x}, c: {step: x, after: a}"), "components: a, b have neither after nor in"},
		{parts("a: {step: x}, b: {step: x, after: a}"), ""},

		{parts(two) + "policies: [{match: {task: f.z}, max_retries: 3}]", "policies[0].match: no component of the definition fits it"},
		{parts(two) + "policies: [{match: {name: /^z/}, max_retries: 3}]", "policies[0].match: no component of the definition fits it"},
		{parts(two) + "policies: [{match: {task: /^f/}, max_retries: 3}]", ""},
		{parts(two) + "policies: [{match: {expr: 'input > 1'}, max_retries: 3}]", ""},
		{parts(two) + "policies: [{match: default, max_retries: 3}, {match: {task: f.x}, timeout: 3s}]", "policies[1]: never applies: "},
		{parts(two) + "policies: [{match: default, max_retries: 3, inherit: true}, {match: {task: f.x}, timeout: 3s}]", ""},
		{parts(two) + "policies: [{match: {expr: 'input > 1'}, max_retries: 3}, {match: {task: f.x}, timeout: 3s}]", ""},
		{parts(two) + "policies: [{match: {task: f.x}, max_retries: 3}, {match: default, timeout: 3s}]", "policies[1]: never applies: "},
		{parts(two) + "policies: [{match: {name: b}, timeout: 3s}]", "policies[0]: never applies: "},

		{parts("a: {step: terminal.submit, params: {target: x, text: y}, policy: {backoff: linear}}"), ""},
		{parts("a: {step: x, policy: {backoff: linear}}"), "components.a.policy.backoff: has no effect: without max_retries nothing is tried again (give max_retries)"},
		{parts("a: {step: x, policy: {retry_if: attempt > 1}}"), "components.a.policy.retry_if: has no effect"},
		{parts("a: {step: x, policy: {max_retries: 2, base_delay: 1s}}"), "components.a.policy.base_delay: has no effect: without backoff there is no wait"},
		{parts("a: {step: x, policy: {max_retries: 2, max_delay_ms: 5}}"), "components.a.policy.max_delay: has no effect"},
		{parts("a: {step: x, policy: {max_retries: 2, base_delay: 1s, inherit: true}}"), ""},
		{parts("a: {step: x, policy: {max_retries: 2, backoff: linear, base_delay: 1s}}"), ""},
		{parts("a: {step: x, policy: {preset: llm, base_delay: 1s}}"), ""},
		{parts("a: {step: x}") + "policies: [{match: default, backoff: linear}]", "policies[0].backoff: has no effect"},
	} {
		d, err := definition.Parse([]byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		switch n := len(d.Warnings); {
		case c.want == "" && n == 0:
		case c.want != "" && n == 1 && strings.HasPrefix(d.Warnings[0].Error(), c.want):
		default:
			t.Errorf("%s:\n%v, want %q", c.src, d.Warnings, c.want)
		}
	}
}
