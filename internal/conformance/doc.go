// Package conformance holds a client of the runner protocol, in whatever language, against
// docs/runner-protocol.yaml: a scripted server plays cases with it (Run), each with a process of its own, and says
// what of them it has not passed. The cases have the names of the protocol's list of cases.
//
// The other way round (RunServer), scripted runners try a deployment: its executors, with the pools behind them.
//
// The client is a program (Options.Command) that connects as the environment says, with the variables below, and
// serves the tasks of Tasks. SIGTERM asks it for a graceful stop, SIGINT to close at once; it exits with 0 after
// either, and with another code when the server wants it no more.
package conformance

// What a client's environment has.
const (
	EnvURL      = "HEDDLE_RUNNER_URL"      // where to connect, without a path
	EnvPool     = "HEDDLE_RUNNER_POOL"     // query parameter pool
	EnvKey      = "HEDDLE_RUNNER_KEY"      // query parameter runner_key
	EnvToken    = "HEDDLE_RUNNER_TOKEN"    // bearer token
	EnvEncoding = "HEDDLE_RUNNER_ENCODING" // json or binary
	EnvScale    = "HEDDLE_RUNNER_SCALE"    // a decimal number that all times of the client are multiplied by, but those that the server says
)

// Tasks are what the client serves.
var Tasks = []Task{
	{"conformance.echo", "gives its input back"},
	{"conformance.sleep", "waits as many milliseconds as its input says, or until it is to stop, which is an error; gives \"slept\""},
	{"conformance.stubborn", "waits as many milliseconds as its input says, whatever it is told; gives \"slept\""},
	{"conformance.fail", "fails with the error that its input is: type, message, retryable, details"},
	{"conformance.crash", "ends with an exception that nobody expects, as by a defect"},
	{"conformance.beat", "gives each element of its input, a list, as the details of a heartbeat, and fails"},
	{"conformance.keys", "puts 1 under the key a, gets the keys a and b, and gives the value of a; fails with the type timeout or unknown if an answer does not come, or with the code of a refusal"},
	{"conformance.park", "sleeps until the time that its input is, in ms since 1970"},
	{"conformance.resign", "asks to be stopped, and gives the reason for which it is"},
	{"conformance.serve", "serves requests of tunnels for as many milliseconds as its input says, or until it is to stop, which is an error: under /echo the status 201, the request's body, its method, path with query and header x-own as the headers x-method, x-path, x-own; under /stream parts of 1,000 bytes without end; under /socket a WebSocket with the sub-protocol talk that says again what it is told"},
}

// Task is a task that a client serves.
type Task struct {
	Name  string
	About string
}
