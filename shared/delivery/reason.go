package delivery

import "strings"

// Reason is why a delivery is in its state. It is shown, and is the type of an attempt's error.
type Reason string

// The reasons. Those that end in "_failed" are followed by a colon and what was seen.
const (
	MissingTarget              Reason = "missing_target"
	TargetResolutionFailed     Reason = "target_resolution_failed"
	PreflightFailed            Reason = "preflight_failed"
	SendFailed                 Reason = "send_failed"
	SendConfirmedActiveTask    Reason = "send_confirmed_active_task"
	SendConfirmed              Reason = "send_confirmed"
	SendUnconfirmed            Reason = "send_unconfirmed"
	UnconfirmedAfterMaxRetries Reason = "unconfirmed_after_max_retries"

	LeaderMissingDeferred Reason = "leader_missing_deferred"
	LeaderMissing         Reason = "leader_missing" // and nobody tries again later
	DeferredNotInjectable Reason = "deferred_not_injectable"
)

// reasons are all of them, with whether something follows a colon.
var reasons = map[Reason]bool{
	MissingTarget: false, TargetResolutionFailed: true, PreflightFailed: true, SendFailed: true,
	SendConfirmedActiveTask: false, SendConfirmed: false, SendUnconfirmed: false, UnconfirmedAfterMaxRetries: false,
	LeaderMissingDeferred: false, LeaderMissing: false, DeferredNotInjectable: false,
}

// aliases are the spellings of the reference, which are accepted and never written.
var aliases = map[string]Reason{
	"missing_tmux_target":                  MissingTarget,
	"tmux_send_keys_confirmed_active_task": SendConfirmedActiveTask,
	"tmux_send_keys_confirmed":             SendConfirmed,
	"tmux_send_keys_unconfirmed":           SendUnconfirmed,
	"leader_pane_missing_deferred":         LeaderMissingDeferred,
	"deferred_shell":                       DeferredNotInjectable,
}

// waits are the reasons of a delivery that a worker has taken on and not handed over yet.
var waits = map[Reason]bool{SendUnconfirmed: true, LeaderMissingDeferred: true, DeferredNotInjectable: true}

// Waits reports whether a delivery of this reason is pending still, though a worker has it.
func (r Reason) Waits() bool { return waits[r] }

// State is the state that a verdict of this reason gives a delivery.
func (r Reason) State() State {
	switch {
	case r.Waits():
		return Pending
	case r == SendConfirmed, r == SendConfirmedActiveTask:
		return Notified
	}
	return Failed
}

func (r Reason) with(why, usual string) Reason {
	if why == "" {
		why = usual
	}
	return r + ":" + Reason(why)
}

// ParseReason reads a reason in our spelling or in the reference's, with spaces around it or not. False: it is
// none.
func ParseReason(text string) (Reason, bool) {
	text = strings.TrimSpace(text)
	if r, ok := aliases[text]; ok {
		return r, true
	}
	name, why, more := strings.Cut(text, ":")
	takes, ok := reasons[Reason(name)]
	if !ok || takes != more || more && why == "" {
		return "", false
	}
	return Reason(text), true
}
