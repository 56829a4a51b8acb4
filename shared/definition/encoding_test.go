package definition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/definition"
)

func TestADefinitionThatIsNoUTF8IsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct{ src, path, says string }{
		{"{\"name\":\"d\",\n\"components\":{\"a\":{\"expr\":\"'\xff'\"}}}", "components.a.expr", "line 2, byte 29 of it: 0xff is no UTF-8"},
		{"name: d\ncomponents:\n  a: {expr: \"'\xff'\"}\n", "", "line 3, byte 15 of it: 0xff is no UTF-8"},
		{"name: d\n# \xe9t\xe9\ncomponents: {}\n", "", "line 2, byte 3 of it: 0xe9 is no UTF-8"},
	} {
		_, err := definition.Parse([]byte(c.src))
		var errs definition.Errors
		if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Path != c.path || !strings.Contains(errs[0].Message, c.says) || errs[0].Fix == "" {
			t.Errorf("%q: %+v", c.src, err)
		}
	}
}
