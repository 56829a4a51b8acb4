package demo_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/demo"
)

func TestTheDemoEndsAsPromised(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := demo.Run(ctx, demo.Options{Out: &out, Every: 20 * time.Millisecond}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{"killed without warning", "A new planner owns all partitions", "Every order ended exactly once"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}
