package replay

import (
	"fmt"
	"testing"
)

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{"commands@0", "inbox@9223372036854775807", "inbox@-1", "commands@+1", "@", "journal@1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRequest(s, "commands", "inbox")
		if err != nil {
			return
		}
		if again, err := ParseRequest(fmt.Sprintf("%s@%d", r.Log, r.Offset), "commands", "inbox"); err != nil || again != r || r.Offset < 0 {
			t.Errorf("%q is %+v, then %+v, %v", s, r, again, err)
		}
	})
}
