package main

import (
	"strings"
	"testing"
)

func TestAClientThatFailsIsTold(t *testing.T) {
	code, out, told := heddle(t, "", "conformance", "runner", "--cmd", "false", "--case", "C05", "--case", "L07")
	if code != codeFailed || strings.Count(out, "FAIL  ") != 2 || !strings.Contains(told, "does not pass 2 of 2 cases") {
		t.Errorf("exit %d\n%s%s", code, out, told)
	}
	code, out, _ = heddle(t, "", "-o", "json", "conformance", "runner", "--cmd", "false", "--case", "C05")
	if code != codeFailed || !strings.Contains(out, `"case":"C05"`) {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, _, told = heddle(t, "", "conformance", "runner", "--cmd", "false", "--case", "Z1"); code != codeUsage || !strings.Contains(told, "no case Z1") {
		t.Errorf("exit %d, %s", code, told)
	}
}

func TestADeploymentIsTried(t *testing.T) {
	elsewhere(t)
	out := running(t)
	runners, _, _ := strings.Cut(out.String()[strings.Index(out.String(), "ws://"):], "\n")
	contains(t, succeed(t, "conformance", "server", "--runners", runners, "--case", "C01", "--case", "M01"), "ok    M01  ", "the deployment passes all 2 cases\n")
	if code, _, told := heddle(t, "", "conformance", "server", "--runners", "ftp://x"); code != codeUsage || !strings.Contains(told, `the URL of runners is "ftp://x"`) {
		t.Errorf("exit %d, %s", code, told)
	}
}
