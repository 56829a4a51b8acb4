package equivalence

import (
	"maps"

	"github.com/heddle-run/heddle/test/sim/workload"
)

// occurred is what has occurred, and what faults have done.
type occurred struct {
	workload.Coverage
	faults map[string]int
}

func newOccurred() occurred { return occurred{workload.NewCoverage(), map[string]int{}} }

// add adds what has occurred in another run.
func (o occurred) add(more occurred) {
	o.Add(more.Coverage)
	for what := range maps.Keys(more.faults) {
		o.faults[what] += more.faults[what]
	}
}

// missing is what has not occurred and should have within so many seeds.
func (o occurred) missing(seeds int, wanted []string) (all []string) {
	if seeds >= enoughSeeds {
		all = o.Missing(unreached)
	}
	for _, what := range wanted {
		if seeds >= enoughForFaults && o.faults[what] == 0 {
			all = append(all, what)
		}
	}
	return all
}

// enoughForFaults are the seeds of one test over which all that its faults are
// to do has to occur.
const enoughForFaults = 18

// What faults do, by what they are done to.
var (
	killedDisks    = []string{"an unsynced tail that is lost", "a wiped disk"}
	damagedDisks   = []string{"an outdated store", "a flipped bit", "a truncated file", "rotten tables", "a rotten manifest", "a full disk"}
	lostInputs     = []string{"a shortened input log", "lost commands", "lost inbox", "a loss that an operator accepts", "a workflow that an operator resumes"}
	strangeRecords = []string{
		"an undecodable command", "an undecodable outcome", "wrong headers", "no key", "a record of the largest size",
		"a command of the largest size", "a foreign partitioner",
	}
	wrongClocks = []string{
		"a clock ahead within what is allowed", "a clock behind within what is allowed", "a clock ahead beyond what is allowed", "a clock behind beyond what is allowed",
		"a clock that is set right", "an owner that stops as its clock is ahead", "an owner that stops as its clock is behind", "a planner that is not heard",
	}
	badNetwork = []string{"a request that is lost", "an answer that is lost", "an answer that is late"}
)

// enoughSeeds are the seeds of one test over which everything that is not
// excused has to occur.
const enoughSeeds = 60

// unreached is what the workload need not bring about in each of the tests, with
// the reason. The simulation (test/sim) meets all of it but "expired".
var unreached = func() map[string]string {
	all := map[string]string{}
	for reason, names := range map[string][]string{
		"no queue is bound to a pool":                                          {"AlarmSet", "RunnableParked"},
		"operators have no part in it":                                         {"force_release", "mark_stale", "request_replay", "ReplayRequested"},
		"only where planners are killed":                                       {"AuthorityMarkedStale"},
		"its clients neither skip nor heartbeat, and their tasks keep nothing": {"keep", "KeysKept", "store_full", "skip", "heartbeat", "RunnableSkipped", "RunnableHeartbeat", "nothing_to_skip"},
		"only where workers are killed or drain":                               {"RunnableLost", "RunnableReturned"},
		"only where a command comes again or late":                             {"CommandIgnored", "attempt_closed"},
		"its clients send the signals that are wanted":                         {"SignalExpired", "unknown_signal", "too_many_signals"},
		"its journals lose nothing":                                            {"JournalLost"},
		"its input logs lose and misplace nothing":                             {"InputLogTruncated", "InputLost", "InputForwarded", "wrong_partition"},
		"nothing in it is too large to be an effect":                           {"EffectFailed", "too_large", "too_costly"},
		"no workflow in it is broken":                                          {"WorkflowQuarantined", "quarantined", "internal_error"},
		"its clients ask for nothing malformed": {
			"InputRejected", "malformed", "not_json", "too_deep", "invalid_command", "unknown_command", "unknown_query", "missing_field",
			"invalid_field", "invalid_cursor", "invalid_workflow_id", "invalid_definition", "invalid_options", "invalid_policy", "invalid_input", "unknown_field",
		},
		"its clients give what is required":               {"missing_context"},
		"its clients know the state of what they ask for": {"already_started", "invalid_state", "not_closed", "not_found", "nothing_to_retry", "stopped"},
		"no id is used for two commands":                  {"conflict"},
		"definitions are there before they are started":   {"unknown_definition"},
		"no run lasts as long as repetitions are known":   {"expired"},
	} {
		for _, name := range names {
			all[name] = reason
		}
	}
	return all
}()
