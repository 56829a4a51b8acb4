package planner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/policy"
)

var (
	documentedDefinition = regexp.MustCompile("(?s)```yaml\n(.*?)\n```")
	documentedField      = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|.*$")
	documentedPage       = regexp.MustCompile(`\]\(policies/([a-z_]+\.md)\)`)
	documentedRun        = regexp.MustCompile("(?s)With the input\\s+`(.+?)`\\s+it\\s+(gives|fails\\s+with)\\s+`(.+?)`")
)

// Each page of docs/kinds and docs/policies has a definition, and says what some input gives, or
// with which type of error the workflow fails. Where that takes more than the input, a line here
// says what happens: lines of a script, in which the workflow is w.
var documented = map[string]string{
	"kinds/until":    "run\nadvance 2599999\nadvance 1",
	"kinds/idle_for": "run\nadvance 75000",
	"kinds/signal":   "run\n" + `signal w {"name":"approval","key":"o7","input":{"by":"ann"}}`,

	"policies/backoff":           "run\nadvance 50000",
	"policies/deadline":          "run\nadvance 60000",
	"policies/execution_mode":    `complete-external w approve {"by":"ann"}` + "\nrun",
	"policies/heartbeat_timeout": "begin w trained\nbeat w trained 1\nlate 30000",
	"policies/on_lost":           "lose w paid\nrun",
	"policies/start_timeout":     "run\nadvance 3600000",
	"policies/timeout":           "run\nadvance 3600000",
}

// documentedTasks are tasks of the pages, and which function of the cases each is.
var documentedTasks = map[string]string{
	"bank.charge":    "boom",
	"bank.lookup":    "probed-completed",
	"bank.pay":       "inc",
	"bank.transfer":  "flaky-2",
	"bank.withdraw":  "key",
	"gpu.fit":        "id",
	"gpu.train":      "nobody", // no worker knows it
	"prices.list":    "id",
	"prices.quote":   "id",
	"reports.render": "slow-1", // too slow at its first attempt
}

func TestTheExamplesOfKindsGiveWhatTheySay(t *testing.T)    { checkPages(t, "kinds") }
func TestTheExamplesOfPoliciesGiveWhatTheySay(t *testing.T) { checkPages(t, "policies") }

// docs/policies.md has a row for each field, which leads to its page.
func TestEachFieldOfAPolicyHasAPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Fields")
	fields, _, _ := strings.Cut(rest, "\n\n`timeout`")
	missing := map[string]bool{}
	for _, name := range policy.Fields() {
		missing[name] = true
	}
	for _, row := range documentedField.FindAllStringSubmatch(fields, -1) {
		if !missing[row[1]] {
			continue // inherit and preset are of the rule
		}
		delete(missing, row[1])
		if page := documentedPage.FindStringSubmatch(row[0]); page == nil {
			t.Errorf("the row of %s leads to no page", row[1])
		} else if _, err := os.Stat("../../docs/policies/" + page[1]); err != nil {
			t.Error(err)
		}
	}
	if len(missing) > 0 {
		t.Errorf("docs/policies.md has no rows for %v", missing)
	}
}

func checkPages(t *testing.T, folder string) {
	pages, err := filepath.Glob("../../docs/" + folder + "/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, path := range pages {
		name := folder + "/" + strings.TrimSuffix(filepath.Base(path), ".md")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkPage(t, string(text), documented[name])
		})
	}
}

// checkPage runs the definition of a page with each input that it names.
func checkPage(t *testing.T, text, script string) {
	definition := documentedDefinition.FindStringSubmatch(text)
	runs := documentedRun.FindAllStringSubmatch(text, -1)
	if definition == nil || len(runs) == 0 {
		t.Fatal("the page has no definition, or does not say what an input gives")
	}
	for _, run := range runs {
		w := newWorld(t, setting{name: "plain"})
		if wrong := w.define("d", definition[1]); wrong != "" {
			t.Fatal(wrong)
		}
		var said bytes.Buffer
		for _, line := range strings.Split("start w d "+run[1]+"\n"+cmp.Or(script, "run"), "\n") {
			w.line(&said, line)
		}
		if said.Len() > 0 {
			t.Errorf("the script says %s", said.String())
		}
		if run[2] != "gives" {
			if s := w.status("w"); s.Failure == nil || s.Failure.Error.Type != run[3] {
				t.Errorf("with the input %s it is %s: %+v, the page says that it fails with %s", run[1], s.Status, s.Failure, run[3])
			}
			continue
		}
		var got struct{ Results any }
		var want any
		w.must(json.Unmarshal(w.query("results", "w", false), &got))
		w.must(json.Unmarshal([]byte(run[3]), &want))
		if !reflect.DeepEqual(got.Results, want) {
			t.Errorf("the input %s gives %v, the page says %s", run[1], got.Results, run[3])
		}
	}
}
