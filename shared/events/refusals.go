package events

import "slices"

// refusals are the codes of refusals and rejections, of commands, of queries and
// of what cannot be read. They are stable: clients decide by them. A code that is
// spelled elsewhere and missing here fails TestRefusalCodesAreInTheTable.
var refusals = []string{
	"already_started", "attempt_closed", "busy", "closed", "conflict", "duplicate_request_id", "expired", "incompatible", "internal_error", "invalid_command",
	"invalid_cursor", "invalid_definition", "invalid_field", "invalid_input", "invalid_options", "invalid_policy", "invalid_request_id",
	"invalid_state", "invalid_transition", "invalid_workflow_id", "malformed", "missing_context", "missing_field", "no_loss", "not_closed", "not_found", "not_json",
	"nothing_to_retry", "nothing_to_skip", "open_transaction", "quarantined", "stopped", "store_full", "too_costly", "too_deep",
	"too_large", "too_many_signals", "unavailable", "unknown_command", "unknown_definition", "unknown_field", "unknown_query",
	"unknown_signal", "wrong_partition",
}

// RefusalCodes are the codes that a planner's refusal may have, sorted.
func RefusalCodes() []string { return slices.Clone(refusals) }
