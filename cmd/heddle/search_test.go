package main

import (
	"strings"
	"testing"
)

const bills = `
name: bills
version: "1"
options: {labels: {customer: acme}}
components:
  charge: {step: test.fail, params: {n: 1}, policy: {on_failure: halt}}
`

func TestWorkflowsAreFoundByWhatFailed(t *testing.T) {
	elsewhere(t)
	write(t, "bills.yaml", bills)
	write(t, "shout.yaml", shout)
	running(t, "bills.yaml", "shout.yaml")
	succeed(t, "start", "bills", "--id", "bill-1", "--input", "1")
	succeed(t, "start", "shout", "name=ann", "--id", "shout-1", "--wait", "30s")
	where := `status=failed error=test_failure component=charge label.customer=acme q="ATTEMPT 1 bill" created_after=1h`
	eventually(t, "the search finds the failed one", func() bool {
		out := succeed(t, "list", "--where", where)
		return strings.Contains(out, "bill-1") && strings.Contains(out, "charge (r1): test_failure")
	})
	for _, nothing := range []string{"component=chargé", "created_before=1h", "definition=bills q=nowhere"} {
		if out := succeed(t, "list", "--where", nothing); strings.Contains(out, "-1") {
			t.Errorf("%s finds %s", nothing, out)
		}
	}
	if out := succeed(t, "list", "--status", "idle", "--where", "definition=shout"); !strings.Contains(out, "shout-1") {
		t.Errorf("flags and --where together find %s", out)
	}
	for where, says := range map[string]string{
		"status=faild": "did you mean failed?", "stauts=failed": "did you mean status?", "failed": "not of the form name=value", "status=": "is empty",
	} {
		if code, _, err := heddle(t, "", "list", "--where", where); code != codeUsage || !strings.Contains(err, says) {
			t.Errorf("%s: exit %d, %s", where, code, err)
		}
	}
	if code, _, err := heddle(t, "", "list", "--status", "idle", "--where", "status=failed"); code != codeUsage || !strings.Contains(err, "more than once") {
		t.Errorf("a status twice: exit %d, %s", code, err)
	}
	contains(t, succeed(t, "runnables", "bill-1", "--component", "charge", "--status", "failed"), "SCOPE", "f1")
}
