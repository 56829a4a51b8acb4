package equivalence

// enoughSeeds are the seeds of one test over which everything that is not
// excused has to occur.
const enoughSeeds = 60

// unreached is what the workload need not bring about in each of the tests, with
// the reason. The simulation (internal/sim) meets all of it but "expired".
var unreached = func() map[string]string {
	all := map[string]string{}
	for reason, names := range map[string][]string{
		"operators have no part in it":               {"force_release", "mark_stale", "request_replay", "ReplayRequested"},
		"only where planners are killed":             {"AuthorityMarkedStale"},
		"its clients neither skip nor heartbeat":     {"skip", "heartbeat", "RunnableSkipped", "RunnableHeartbeat", "nothing_to_skip"},
		"only where takers are killed or drain":      {"RunnableLost", "RunnableReturned"},
		"only where a command comes again or late":   {"CommandIgnored", "attempt_closed"},
		"its input logs lose and misplace nothing":   {"InputLogTruncated", "InputLost", "InputForwarded", "wrong_partition"},
		"nothing in it is too large to be an effect": {"EffectFailed", "too_large"},
		"no workflow in it is broken":                {"WorkflowQuarantined", "quarantined", "internal_error"},
		"its clients ask for nothing malformed": {
			"InputRejected", "malformed", "not_json", "too_deep", "invalid_command", "unknown_command", "unknown_query", "missing_field",
			"invalid_field", "invalid_cursor", "invalid_workflow_id", "invalid_definition", "invalid_options", "invalid_policy", "invalid_input",
		},
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
