package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/dev/devfile"
)

// heddle runs the command line as a user would.
func heddle(t *testing.T, stdin string, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, streams{in: strings.NewReader(stdin), out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

// elsewhere makes the test's working directory one without settings or a dev.
func elsewhere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	nobody := devfile.File{URL: "http://127.0.0.1:1", Brokers: []string{"127.0.0.1:1"}}
	expected(t, nobody) // whatever runs on this machine
	return dir
}

// expected is where a deployment is looked for that nobody has noted.
func expected(t *testing.T, f devfile.File) {
	t.Helper()
	was := usual
	usual = func() devfile.File { return f }
	t.Cleanup(func() { usual = was })
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEachKindOfTroubleHasItsExitCode(t *testing.T) {
	elsewhere(t)
	bad := write(t, "bad.yaml", "name: x\ncomponents:\n  a: {stepp: b.c}\n")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"version"}, codeDone, ""},
		{[]string{"--help"}, codeDone, ""},
		{[]string{"bogus"}, codeUsage, "bogus"},
		{[]string{"topics", "diff"}, codeUsage, "heddle topics diff --help"},
		{[]string{"start", "x", "notapair"}, codeUsage, "is not of the form key=value (a whole input goes behind --input)"},
		{[]string{"signal", "x", "s", "--input", "ann"}, codeUsage, `looking for beginning of value (a text has its own quotes, '"ann"'`},
		{[]string{"start", "x", "a=1", "--input", "{}"}, codeUsage, "not both"},
		{[]string{"input", "x", "--input", "{"}, codeUsage, "not JSON"},
		{[]string{"define", "missing.yaml"}, codeUsage, "missing.yaml"},
		{[]string{"define", bad}, codeFailed, "bad.yaml:3:7: components.a.stepp: unknown field (did you mean step?"},
		{[]string{"expr", "1 +"}, codeFailed, "1 +"},
		{[]string{"get", "x"}, codeUnreachable, "heddle dev"},
		{[]string{"get", "x", "--url", "http://127.0.0.1:1"}, codeUnreachable, "127.0.0.1:1"},
		{[]string{"topics", "check", "--brokers", "127.0.0.1:1"}, codeUnreachable, "127.0.0.1:1"},
	} {
		code, out, err := heddle(t, "", c.args...)
		if code != c.code || !strings.Contains(err, c.says) {
			t.Errorf("heddle %s: exit %d, want %d\nstdout: %s\nstderr: %s", strings.Join(c.args, " "), code, c.code, out, err)
		}
	}
}

// A port that speaks something else, or nothing, is told of in good time.
func TestAPortThatSpeaksSomethingElseIsToldOf(t *testing.T) {
	if !apart(t) {
		return
	}
	elsewhere(t)
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	addr := web.Listener.Addr().String()
	var asking sync.WaitGroup
	for _, args := range [][]string{
		{"list", "--url", web.URL}, {"watch", "w", "--url", web.URL},
		{"get", "x", "--brokers", addr}, {"topics", "check", "--brokers", addr}, {"journal", "dump", "--brokers", addr},
	} {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			var out, err bytes.Buffer
			code := run(ctx, args, streams{in: strings.NewReader(""), out: &out, err: &err})
			if code == codeDone || ctx.Err() != nil || !strings.Contains(err.String(), "is it ") {
				t.Errorf("heddle %s: exit %d, %s", strings.Join(args, " "), code, &err)
			}
		})
	}
	asking.Wait()
}

func TestADevThatDiedIsNotAsked(t *testing.T) {
	dir := elsewhere(t)
	// No system gives out this process id.
	gone := devfile.File{URL: "http://127.0.0.1:1", Brokers: []string{"127.0.0.1:1"}, PID: math.MaxInt32}
	if err := devfile.Write(dir, gone); err != nil {
		t.Fatal(err)
	}
	if code, _, err := heddle(t, "", "get", "x", "--data", dir); code != codeUnreachable || !strings.Contains(err, "is gone") {
		t.Errorf("exit %d, %q", code, err)
	}
}

func TestAnExpressionSeesItsInput(t *testing.T) {
	dir := elsewhere(t)
	file := write(t, filepath.Join(dir, "f.json"), `{"total": 1200}`)
	if code, out, err := heddle(t, "", "expr", "input.total > 1000", "--input", "@"+file); code != codeDone || out != "true\n" {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
	code, out, err := heddle(t, `{"total": 2}`, "-o", "json", "expr", "{double: input.total * 2}", "--input", "-")
	if code != codeDone || !json.Valid([]byte(out)) || !strings.Contains(out, `"double": 4`) {
		t.Errorf("exit %d, %q, %q", code, out, err)
	}
	if code, _, err := heddle(t, "", "expr", "input.x", "--input", `{"total": 1}`); code != codeFailed || !strings.Contains(err, "total") {
		t.Errorf("an absent field: exit %d, %q; want the fields that are there", code, err)
	}
}

func TestADefinitionIsCheckedAndDrawnWithoutADeployment(t *testing.T) {
	elsewhere(t)
	file := write(t, "greet.yaml", "name: greet\ncomponents:\n  hello: {step: hello.greet}\n")
	if code, out, err := heddle(t, "", "define", "--check", file); code != codeDone || !strings.HasPrefix(out, "greet is valid\nsha256:") {
		t.Errorf("define --check: exit %d, %q, %q", code, out, err)
	}
	if code, out, _ := heddle(t, "", "graph", file); code != codeDone || !strings.Contains(out, "hello.greet") {
		t.Errorf("graph: exit %d, %q", code, out)
	}
	if code, out, _ := heddle(t, "", "-o", "json", "graph", file); code != codeDone || !json.Valid([]byte(out)) {
		t.Errorf("graph -o json: exit %d, %q", code, out)
	}
}

func TestSettingsComeFromFlagThenEnvironmentThenFile(t *testing.T) {
	elsewhere(t)
	write(t, "heddle.yaml", "prefix: top.\ntopics: {prefix: file., queue_partitions: 3}\n")
	prefix := func(args ...string) string {
		code, out, err := heddle(t, "", append([]string{"-o", "json", "config", "topics"}, args...)...)
		if code != codeDone {
			t.Fatalf("exit %d: %s", code, err)
		}
		var all listed[effective]
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatal(err)
		}
		for _, e := range all.Items {
			if e.Name == "prefix" {
				return e.Value.(string) + " from " + e.Source
			}
		}
		return ""
	}
	if got := prefix(); got != "file. from heddle.yaml: topics.prefix" {
		t.Errorf("from the file: %s", got)
	}
	t.Setenv("HEDDLE_PREFIX", "env.")
	if got := prefix(); got != "env. from HEDDLE_PREFIX" {
		t.Errorf("from the environment: %s", got)
	}
	// What a command gets is what config says.
	_, _, err := heddle(t, "", "topics", "check", "--brokers", "127.0.0.1:1", "--prefix", "-")
	if !strings.Contains(err, `topic prefix "-"`) {
		t.Errorf("the flag does not come first: %s", err)
	}
	_, _, err = heddle(t, "", "topics", "check", "--brokers", "127.0.0.1:1")
	if strings.Contains(err, "topic prefix") {
		t.Errorf("the environment's prefix is not taken: %s", err)
	}
}

func TestAMisspeltSettingIsRefused(t *testing.T) {
	elsewhere(t)
	for text, want := range map[string]string{
		"brokerz: [a]\n":         "brokerz is no setting (did you mean brokers?)",
		"topics: {prefiks: x}\n": "topics.prefiks is no setting (did you mean prefix?)",
		"shoe_size: 7\n":         "shoe_size is no setting; --help of a command lists",
		"{":                      "",
	} {
		write(t, "heddle.yaml", text)
		for _, args := range [][]string{{"config"}, {"list"}} {
			if code, _, err := heddle(t, "", args...); code != codeUsage || !strings.HasPrefix(err, "heddle: settings file heddle.yaml: "+want) {
				t.Errorf("%v with %q: exit %d, %q", args, text, code, err)
			}
		}
	}
	if code, _, err := heddle(t, "", "--config", "nowhere.yaml", "version"); code != codeUsage || !strings.Contains(err, "nowhere.yaml") {
		t.Errorf("a settings file that is not there: exit %d, %q", code, err)
	}
}

func TestADurationHasItsUnit(t *testing.T) {
	elsewhere(t)
	for arg, want := range map[string]string{
		"--history=5":    `--history: "5" is no duration; write 1m30s, 7d or PT1M30S`,
		"--history=week": `--history: "week" is no duration`,
		"--history=-1h":  "--history: must not be negative",
	} {
		if code, _, err := heddle(t, "", "planner", arg); code != codeUsage || !strings.Contains(err, want) {
			t.Errorf("%s: exit %d, %q", arg, code, err)
		}
	}
	write(t, "heddle.yaml", "history: 604800\n")
	if code, _, err := heddle(t, "", "planner"); code != codeUsage || !strings.Contains(err, "604800 is no duration") {
		t.Errorf("a number in the settings: exit %d, %q", code, err)
	}
	var flags struct{ History, Drain time.Duration }
	parser, err := newParser(&flags, &settingsFile{}, streams{out: io.Discard, err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"--history=7d", "--drain=PT1M"}); err != nil || flags.History != 7*24*time.Hour || flags.Drain != time.Minute {
		t.Errorf("7d and PT1M: %+v, %v", flags, err)
	}
}

func TestASecretIsNotShown(t *testing.T) {
	if !isSecret("token-key") || !isSecret("archive-store") || isSecret("key-file") {
		t.Error("the token key is shown, or a file's name is not")
	}
}

func TestPairsMakeAnInput(t *testing.T) {
	a := &app{streams: streams{in: strings.NewReader(`[1]`)}}
	for _, c := range []struct {
		args valueArgs
		want string
	}{
		{valueArgs{}, ""},
		{valueArgs{Pairs: []string{"name=Ada", "n=3", "list=[1, 2]", "text=\"3\"", "empty="}},
			`{"empty":"","list":[1,2],"n":3,"name":"Ada","text":"3"}`},
		{valueArgs{Input: `{"a": 1}`}, `{"a": 1}`},
		{valueArgs{Input: "-"}, `[1]`},
	} {
		got, err := c.args.value(a)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %s, %v; want %s", c.args, got, err, c.want)
		}
	}
}
