package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/dev/devfile"
	"github.com/heddle-run/heddle/sdk/client"
	"github.com/heddle-run/heddle/shared/events"
)

// sections are those of docs/commands.md, by the command that they are of.
func sections(t *testing.T) (page string, of map[string]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	of = map[string]string{}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		if name, ok := strings.CutPrefix(strings.SplitN(s, "`\n", 2)[0], "`"); ok {
			of[name] = s
		}
	}
	return string(text), of
}

// form is what a section has in the row of a form, or empty.
func form(section, name string) string {
	found := regexp.MustCompile(`(?m)^\| ` + name + " \\| `(.*)` \\|$").FindStringSubmatch(section)
	if found == nil {
		return ""
	}
	return found[1]
}

// ofPartitions are the commands to a partition, which docs/kafka.md has.
var ofPartitions = []string{"accept_loss", "force_release", "mark_stale", "remove_dispatch", "request_replay"}

// recordsOnly are the commands that nobody gives by hand: an executor sends them for what it runs.
var recordsOnly = []string{"keep"}

// docs/commands.md has a section for each command, and each of its forms is there.
// Its examples are run, in their order, and give what they say.
func TestTheExamplesOfCommandsGiveWhatTheySay(t *testing.T) {
	page, of := sections(t)
	elsewhere(t)
	write(t, "broken.yaml", broken)
	files := []string{"broken.yaml"}
	for i, block := range strings.Split(page, "```yaml\n")[1:] {
		definition, _, _ := strings.Cut(block, "```")
		files = append(files, fmt.Sprintf("%d.yaml", i))
		write(t, files[i+1], definition)
	}
	running(t, files...)
	routes := routesOf(t)
	token := events.TokenText(events.Key("0123456789abcdef").Seal(events.Token{Workflow: "w", Runnable: 1, Attempt: 1}))
	for _, name := range events.CommandNames() {
		section, ok := of[name]
		if slices.Contains(ofPartitions, name) {
			continue
		}
		if !ok {
			t.Errorf("docs/commands.md has no section for %s", name)
			continue
		}
		if !slices.Contains(recordsOnly, name) {
			if route := form(section, "HTTP"); !routes[route] {
				t.Errorf("%s: the API has no %q", name, route)
			}
			method := strings.TrimPrefix(form(section, "SDK"), "Client.")
			if _, ok := reflect.TypeFor[*client.Client]().MethodByName(method); !ok {
				t.Errorf("%s: the SDK has no method %q", name, method)
			}
		}
		record := strings.Replace(form(section, "Kafka"), "…", token, 1)
		if c, bad := events.ParseCommand([]byte("w"), nil, []byte(record), "0/0"); bad != nil || c.Name != name {
			t.Errorf("%s: its record is read as %+v, %v", name, c, bad)
		}
		if line := form(section, "CLI"); line != "" {
			succeed(t, strings.Fields(line)[1], "--help")
		}
	}
	shown := "" // the token that an example showed last
	for _, block := range strings.Split(page, "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, example := range strings.Split("\n"+block, "\n$ heddle ")[1:] {
			line, says, _ := strings.Cut(strings.TrimSuffix(example, "\n"), "\n")
			code, out, err := heddle(t, "", words(strings.Replace(line, "TOKEN", shown, 1))...)
			if fields := strings.Fields(out); strings.HasSuffix(line, "--tokens") && len(fields) > 0 {
				shown = fields[len(fields)-1]
			}
			if !strings.Contains(out+err, says) || says == "" && code != codeDone && code != codeFailed {
				t.Errorf("heddle %s: exit %d\n%s%swant %s", line, code, out, err, says)
			}
		}
	}
}

// words splits a line as a shell does that knows single quotes only.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}

// routesOf are the routes that the running gateway describes, as METHOD PATH.
func routesOf(t *testing.T) map[string]bool {
	t.Helper()
	at, err := devfile.Running()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(at.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for path, methods := range doc.Paths {
		for method := range methods {
			all[strings.ToUpper(method)+" "+path] = true
		}
	}
	return all
}
