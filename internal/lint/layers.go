package lint

import "strings"

// module is the path that all packages of the repository begin with.
const module = "github.com/heddle-run/heddle"

// layer is a height in the system: imports point down, or to the same height.
type layer int

const (
	shared   layer = iota // PURE: the language of the system; no package of ours outside shared
	pure                  // PURE: decisions; no I/O, no clock, no randomness
	shell                 // internal shells: Kafka, stores, brokers, hosts of machines
	service               // the four services' shells
	assembly              // what puts services together: commands, dev, examples, tests, simulation
)

// entry places the packages of one path, and those below it, in a layer.
type entry struct {
	path  string
	layer layer
	about string
}

// table places every package. The longest matching path counts.
var table = []entry{
	{"", shared, "topics.yaml, embedded"},
	{"shared", shared, "commands, events, rows, definitions, policies, expressions"},
	{"shared/events/protogen", assembly, "writes heddle.proto; a tool beside what it describes"},

	{"shared/frames/framegen", assembly, "writes runner.proto and the AsyncAPI document; a tool beside what it describes"},

	{"services/planner", pure, "what happens next"},
	{"services/planner/archive", pure, "what of a journal is kept outside Kafka, and what a stored run comes to"},
	{"services/planner/archive/archiver", service, "follows the journal and writes to a store"},
	{"services/planner/archive/shelf", shell, "reads runs out of a store"},
	{"services/planner/plannerd", service, "hosts the planner in partitions"},
	{"services/executor", service, "slots, built-in tasks, HTTP services"},
	{"services/gateway", service, "HTTP"},
	{"services/gateway/view", shell, "the list of workflows"},
	{"services/gateway/calls", shell, "requests to attempts at runners"},
	{"services/readiness", pure, "from snapshots to reasons"},
	{"services/readiness/readinessd", service, "follows authority, publishes readiness"},

	{"internal/faults", pure, "whether a program has the switches that break it on purpose"},
	{"internal/runner", pure, "what a runner does next"},
	{"internal/tunnel", pure, "how messages get through a tunnel once and in order"},
	{"internal/tunnel/joint", shell, "a WebSocket at an end of a tunnel"},
	{"internal/runtime", pure, "the runtime record of a partition: its lease, backlog, replay, readiness"},

	{"internal/access", shell, "keys, roles, loopback"},
	{"internal/request", shell, "commands and queries, matched with their replies"},
	{"internal/broker", shell, "the embedded broker"},
	{"internal/definitions", shell, "the definitions topic, followed"},
	{"internal/journal", shell, "the one journal reader"},
	{"internal/kafka", shell, "client options, topics"},
	{"internal/partition", shell, "the partition log: an owner's life"},
	{"internal/partition/loop", shell, "DETERMINISTIC: the loop of the lawful owner"},
	{"internal/partition/feed", shell, "what comes in: the reader of the input logs, and each owner's mailbox"},
	{"internal/partition/defect", shell, "what contains a panic"},
	{"internal/partition/loop/looptest", shell, "a machine for tests of the loop and its owner"},
	{"internal/history", shell, "history out of the journal, graphs"},
	{"internal/service", shell, "start and stop, health and metrics"},
	{"internal/store", shell, "typed tables over Pebble"},
	{"internal/postgrestest", shell, "a PostgreSQL server for tests"},
	{"internal/worker", shell, "consumers of task queues"},
	{"internal/conformance", shell, "what a client of the runner protocol has to pass, and a deployment"},
	{"internal/typed", shell, "handlers out of tasks' functions"},
	{"internal/adapter", shell, "attempts that are handed over to something else"},
	{"internal/tracing", shell, "spans, and who is told of them"},

	{"sdk", shell, "what programs outside import"},
	{"sdk/embedded", assembly, "all services in a program's own process"},

	{"bench/compare", assembly, "two revisions, measured in turns"},
	{"internal/bench", assembly, "workloads and the floor"},
	{"internal/dev", assembly, "all services in one process"},
	{"internal/dev/devfile", shell, "where a running dev is found"},
	{"internal/lint", assembly, "these tests"},
	{"cmd", assembly, "the binary"},
	{"examples", assembly, "programs that use the sdk"},
	{"test", assembly, "the simulation, torture, real Kafka"},
}

// gates say which packages may import a module directly, outside of tests.
// A module that is not listed may be imported anywhere but in pure packages.
var gates = []struct {
	module string
	only   []string
}{
	{"github.com/cockroachdb/pebble", []string{"internal/store", "internal/broker", "test/sim", "services/gateway/view", "sdk/store/pebblestore"}},
	{"github.com/jackc/pgx", []string{"sdk/store/postgres", "sdk/executor/river", "internal/postgrestest"}},
	{"github.com/riverqueue", []string{"sdk/executor/river"}},
	{"modernc.org", []string{"sdk/store/sqlite"}},
	{"github.com/twmb/franz-go/pkg/kfake", []string{"internal/broker"}},
	{"github.com/go-chi/chi", []string{"services/gateway"}},
	{"github.com/alecthomas/kong", []string{"cmd", "bench/compare"}},
	{"github.com/testcontainers", []string{"test"}},
	{"github.com/anishathalye/porcupine", []string{"test/sim"}},
	{"github.com/go-json-experiment/json", []string{"internal/request", "services/gateway/view", "shared/events", "shared/wire"}},
	{"go.yaml.in/yaml", []string{"shared/definition", "internal/kafka/topics", "cmd"}},
	{"github.com/coder/websocket", []string{"sdk/runner", "internal/tunnel/joint", "services/gateway", "services/executor", "internal/conformance", "examples/runner"}},
	{"github.com/santhosh-tekuri/jsonschema", []string{"shared/definition"}},
	{"github.com/expr-lang/expr", []string{"shared/expr"}},
	{"google.golang.org/protobuf", []string{"shared/wire"}},
	{"go.opentelemetry.io/otel/sdk", []string{"internal/tracing/otlp"}},
	{"go.opentelemetry.io/otel/exporters", []string{"internal/tracing/otlp"}},
}

// pureModules are the modules that pure packages may import, with the reason
// why they are pure as they are used.
var pureModules = map[string]string{
	"google.golang.org/protobuf/encoding/protowire": "bytes in, bytes out",
	"github.com/expr-lang/expr":                     "parser and syntax tree only; evaluation is ours",
	"github.com/cespare/xxhash":                     "bytes in, a number out",
	"go.yaml.in/yaml":                               "parser only",
	"github.com/go-json-experiment/json":            "bytes in, values out; what it words by chance, errors of types, is not passed on",
	"github.com/santhosh-tekuri/jsonschema":         "compiles and validates values; loads nothing",
	"golang.org/x/text":                             "the language of the validator's messages",
	"pgregory.net/rapid":                            "tests",
}

// never lists what a package may not reach by any path, outside of tests.
var never = []struct {
	from string
	but  []string // what lies below from and may
	not  []string
	why  string
}{
	{"sdk", []string{adapters}, []string{"github.com/cockroachdb/pebble", "github.com/twmb/franz-go/pkg/kfake", module + "/services", module + "/internal/store", module + "/internal/partition"},
		"programs outside link neither our stores nor our services"},
	{"sdk/worker", nil, []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"}, "a program brings its exporter, or package sdk/tracing"},
	{"sdk", []string{adapters, "sdk/executor/river"}, databases, "who keeps nothing in a database links none"},
	{adapters, nil, []string{module + "/services", module + "/internal"}, "a store is used by us, and uses nothing of ours"},
	{"sdk/store/memory", nil, append([]string{"github.com/cockroachdb/pebble"}, databases...), "a store in memory links no database"},
	{"sdk/storetest", nil, append([]string{"github.com/cockroachdb/pebble"}, databases...), "the kit of an adapter links that adapter's database alone"},
	{"services", nil, databases, "an assembly names the store that its services are given"},
	{"internal", []string{"internal/postgrestest"}, databases, "likewise"},
	{"sdk/executor", []string{"sdk/executor/river"}, heavy, "an adapter speaks to its system alone"},
	{"sdk/executor/river", nil, append([]string{module + "/services", module + "/internal"}, heavy...), "likewise"},
	{"sdk/executortest", nil, append([]string{module + "/internal"}, heavy...), "the kit of an adapter links that adapter's system alone"},
	{"cmd/heddle", nil, []string{"github.com/riverqueue"}, "who hands nothing over to River does not link it"},
	{"cmd/heddle", nil, []string{module + "/test"}, "users who run workflows need no simulation"},
	{"sdk/client", nil, heavy, "a program that speaks HTTP links no Kafka client and no language"},
	{"sdk/task", nil, heavy, "a task is a name and two types"},
	{"sdk/runner", nil, heavy, "a program that sees one WebSocket links no Kafka client and no language"},
	{"examples", nil, []string{module + "/services", module + "/internal/store", module + "/internal/partition"},
		"an example is a program outside"},
}

// allInOne are the packages that programs outside link to have all services in their own
// process, and so reach what others never do.
var allInOne = []string{"sdk/embedded", "examples/embedded"}

// adapters are the packages below which each store brings the database that it is named after.
const adapters = "sdk/store"

// databases are linked by the programs that name them.
var databases = []string{"github.com/jackc/pgx", "modernc.org", "github.com/riverqueue"}

// heavy is what a program needs only if it speaks Kafka or reads definitions.
var heavy = []string{"github.com/twmb/franz-go", "github.com/expr-lang/expr", "github.com/santhosh-tekuri/jsonschema", "go.yaml.in/yaml"}

// below reports whether path is parent or lies under it.
func below(path, parent string) bool {
	return parent == "" && path == "" || parent != "" && (path == parent || strings.HasPrefix(path, parent+"/"))
}

// place finds the entry of a package by its path in the module.
func place(path string) (entry, bool) {
	var best entry
	found := false
	for _, e := range table {
		if below(path, e.path) && (!found || len(e.path) > len(best.path)) {
			best, found = e, true
		}
	}
	return best, found
}

// isPure reports whether the package has to be pure.
func isPure(path string) bool {
	e, ok := place(path)
	return ok && e.layer <= pure
}

// owner is the service that a package belongs to, or "".
func owner(path string) string {
	rest, ok := strings.CutPrefix(path, "services/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
