package broker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestASlowEndOfATransactionIsNoWarning(t *testing.T) {
	var out bytes.Buffer
	k := kfakeLogger{slog.New(slog.NewTextHandler(&out, nil)), new(failure)}
	k.Logf(kfake.LogLevelWarn, "txn: EndTxn slow pid=%d", 1)
	if out.Len() > 0 {
		t.Errorf("it is logged: %s", &out)
	}
	k.Logf(kfake.LogLevelWarn, "something else: %d", 1)
	if !strings.Contains(out.String(), "level=WARN") || !strings.Contains(out.String(), "something else: 1") {
		t.Errorf("a warning is lost: %q", &out)
	}
}
