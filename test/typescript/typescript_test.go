package typescript

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/internal/conformance"
	"github.com/heddle-run/heddle/shared/frames"
)

const dir = "../../sdk/typescript"

// program finds a program of Node's. Where Node or the compiler is not installed the test is skipped, unless
// HEDDLE_TYPESCRIPT is "required".
func program(t *testing.T, name string) string {
	t.Helper()
	absent := t.Skipf
	if os.Getenv("HEDDLE_TYPESCRIPT") == "required" {
		absent = t.Fatalf
	}
	path, err := exec.LookPath(name)
	if err != nil {
		absent("the TypeScript SDK cannot be tried: there is no %s on the path (`make typescript` needs node and npm)", name)
	}
	for _, where := range []string{dir, example + "/typescript", "node"} {
		if _, err := os.Stat(filepath.Join(where, "node_modules")); err != nil {
			absent("the TypeScript SDK cannot be tried: %s; `make typescript` installs what is wanted", err)
		}
	}
	return path
}

// ran is what a program writes in the directory of the SDK.
func ran(t *testing.T, name string, args ...string) string {
	t.Helper()
	return ranIn(t, dir, name, args...)
}

// ranIn is the same in another directory.
func ranIn(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, name), args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// node22 is where npm puts the Node that the tests bring along.
const node22 = "node/node_modules/node-linux-*/bin/node"

// nodes are how the Nodes that there are run a program, by their versions: the one on the path, and on Linux one that has a WebSocket of its own.
func nodes(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"on the path": node(t)}
	found, err := filepath.Glob(node22)
	if err != nil || runtime.GOOS == "linux" && len(found) != 1 {
		t.Fatalf("there is %q, %v, want one Node at %s; `make typescript` installs it", found, err, node22)
	}
	for _, path := range found {
		all["22"] = []string{path}
	}
	return all
}

// node is how the Node on the path runs a program that has a WebSocket.
func node(t *testing.T) []string {
	t.Helper()
	version := strings.TrimPrefix(strings.TrimSpace(ran(t, "node", "--version")), "v")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil {
		t.Fatalf("the version of node is %q", version)
	} else if n < 22 {
		return []string{"node", "--experimental-websocket"}
	}
	return []string{"node"}
}

func TestTheTypeScriptSDKPassesTheConformanceSuite(t *testing.T) {
	ran(t, "npm", "run", "--silent", "build")
	ran(t, "npm", "run", "--silent", "build:example")
	for name, node := range nodes(t) {
		for _, encoding := range []frames.Encoding{frames.JSON, frames.Binary} {
			t.Run("Node "+name+", "+encoding.String(), func(t *testing.T) {
				t.Parallel() // they wait most of their time
				conform(t, encoding, append(node, dir+"/example/dist/conformance.js"))
			})
		}
	}
}

// conform plays all cases with a client.
func conform(t *testing.T, encoding frames.Encoding, command []string) {
	t.Helper()
	passed := 0
	err := conformance.Run(t.Context(), conformance.Options{Command: command, Encoding: encoding, Parallel: 6}, func(r conformance.Result) {
		if passed++; r.Failure != "" {
			t.Errorf("%s, %s: %s\n%s", r.Name, r.About, r.Failure, r.Output)
		} else if r.Among != "" {
			t.Logf("%s, %s: by itself; among others: %s", r.Name, r.About, r.Among)
		}
	})
	if all := len(conformance.Cases()); err != nil || passed != all {
		t.Errorf("%d cases of %d, %v", passed, all, err)
	}
}

// The package for npm has the compiled modules with their types, and needs no other package.
func TestThePackageForNPM(t *testing.T) {
	ran(t, "npm", "run", "--silent", "build")
	var packed []struct {
		Files []struct{ Path string }
	}
	if err := json.Unmarshal([]byte(ran(t, "npm", "pack", "--dry-run", "--json", "--ignore-scripts")), &packed); err != nil || len(packed) != 1 {
		t.Fatalf("%+v, %v", packed, err)
	}
	var paths []string
	for _, f := range packed[0].Files {
		paths = append(paths, f.Path)
	}
	for _, want := range []string{"package.json", "README.md", "dist/index.js", "dist/index.d.ts", "dist/frames.d.ts"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is missing in %q", want, paths)
		}
	}
	for _, p := range paths {
		if strings.Contains(p, "example") || strings.HasPrefix(p, "src/") {
			t.Errorf("%s is in the package", p)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies, PeerDependencies map[string]string }
	if err := json.Unmarshal(b, &manifest); err != nil || len(manifest.Dependencies)+len(manifest.PeerDependencies) > 0 {
		t.Errorf("it needs %+v, %v", manifest, err)
	}
}
