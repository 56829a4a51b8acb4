package expr_test

import (
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/expr"
)

func TestDurationsAreReadAsGoAndISOWriteThem(t *testing.T) {
	const day = 24 * time.Hour
	for s, want := range map[string]time.Duration{
		"0s": 0, "30s": 30 * time.Second, "1m30s": 90 * time.Second, "1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond, "-1s": -time.Second,
		"7d": 7 * day, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "-1d": -day, "+2s": 2 * time.Second,
		"PT0S": 0, "PT30S": 30 * time.Second, "PT1M30S": 90 * time.Second, "PT1.5H": 90 * time.Minute, "P1D": day, "P1DT12H": 36 * time.Hour,
		"P2W": 14 * day, "-PT1S": -time.Second, "PT0.25S": 250 * time.Millisecond,
	} {
		if got, err := expr.ParseDuration(s); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", s, got, err, want)
		}
	}
	for _, s := range []string{"", "s", "5", "1x", "d", "1d2", "--1s", "-+1s", "+-1s", "1h1d", "P", "PT", "P1", "PT1", "P1Y", "P1M", "P1H", "PT1D", "PT1S1M",
		"PT1S1S", "PT-1S", "P1DT", "1e3s", "300000000h", "999999999d", "P99999999999W", "106751d24h"} {
		if got, err := expr.ParseDuration(s); err == nil {
			t.Errorf("%q = %s", s, got)
		}
	}
}
