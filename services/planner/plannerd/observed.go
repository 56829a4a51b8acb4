package plannerd

import (
	"log/slog"

	"github.com/heddle-run/heddle/shared/events"
)

// observed says what telemetry makes of the events of one type.
type observed struct {
	event events.Event
	of    aspect
	name  string     // value of the label "event"
	level slog.Level // of its line in the log
	ends  bool       // what has a duration, from its begin on
}

// aspect is what an event is about.
type aspect uint8

const (
	ofWorkflow aspect = iota
	ofAttempt
	ofBreaker
)

// observations is what is counted, measured and logged: one line per type of event. What
// happens in each workflow or attempt is logged at level debug, so that a run that goes well is
// quiet however much it does; what somebody may have to look at is logged at level info or
// above, at most linesPerSecond of each type.
var observations = []observed{
	{&events.WorkflowStarted{}, ofWorkflow, "started", slog.LevelDebug, false},
	{&events.WorkflowIdle{}, ofWorkflow, "idle", slog.LevelDebug, true},
	{&events.WorkflowCompleted{}, ofWorkflow, "completed", slog.LevelDebug, true},
	{&events.WorkflowFailed{}, ofWorkflow, "failed", slog.LevelInfo, true},
	{&events.WorkflowStopped{}, ofWorkflow, "stopped", slog.LevelDebug, true},
	{&events.WorkflowCancelled{}, ofWorkflow, "cancelled", slog.LevelDebug, true},
	{&events.WorkflowDeleted{}, ofWorkflow, "deleted", slog.LevelDebug, false},

	{&events.RunnableDispatched{}, ofAttempt, "started", slog.LevelDebug, false},
	{&events.RunnableCompleted{}, ofAttempt, "completed", slog.LevelDebug, true},
	{&events.RunnableFailed{}, ofAttempt, "failed", slog.LevelDebug, true},
	{&events.RunnableTimedOut{}, ofAttempt, "timed_out", slog.LevelDebug, true},
	{&events.RunnableLost{}, ofAttempt, "lost", slog.LevelInfo, true},
	{&events.RunnableReturned{}, ofAttempt, "returned", slog.LevelDebug, true},
	{&events.RunnableParked{}, ofAttempt, "slept", slog.LevelDebug, true},
	{&events.RunnableCancelled{}, ofAttempt, "cancelled", slog.LevelDebug, true},
	{&events.RunnableSkipped{}, ofAttempt, "skipped", slog.LevelDebug, true},
	{&events.ProbeAnswered{}, ofAttempt, "probe_answered", slog.LevelDebug, true},
	{&events.OutcomeArrived{}, ofAttempt, "late_outcome", slog.LevelDebug, false},
	{&events.FallbackApplied{}, ofAttempt, "fallback", slog.LevelInfo, false},
	{&events.RetryScheduled{}, ofAttempt, "retried", slog.LevelDebug, false},
	{&events.AttemptDenied{}, ofAttempt, "denied", slog.LevelDebug, false},

	{&events.BreakerTurned{}, ofBreaker, "turned", slog.LevelInfo, false}, // to what, breakers.go says
}

// byNumber finds the line of an event by its number.
var byNumber = func() [256]int {
	var all [256]int
	for i := range all {
		all[i] = -1
	}
	for i, o := range observations {
		all[events.Number(o.event)] = i
	}
	return all
}()

// quiet says why telemetry is not told of the other events. A test holds both lists against the
// events that there are.
var quiet = map[string]string{
	"InputAccepted":      quietStep,
	"FactProduced":       quietStep,
	"RunnableReady":      quietStep,
	"RunnableNotified":   quietStep,
	"RunnableSuppressed": quietStep,
	"BranchNotTaken":     quietStep,
	"JoinArmArrived":     quietStep,
	"JoinArmDied":        quietStep,
	"TimerArmed":         quietStep,
	"TimerFired":         quietStep,
	"TimerMoved":         quietStep,
	"InputSettled":       quietStep,
	"RunnableHeartbeat":  quietStep,
	"KeysKept":           quietStep,
	"AlarmSet":           quietStep,

	"LeaderNotificationDeferred": quietStep,
	"DispatchesRemoved":          quietPartition,
	"DeliveryConfirmedLate":      quietPartition,

	"FannedOut":       quietStep,
	"ScopeOpened":     quietStep,
	"ScopeClosed":     quietStep,
	"FailureCaught":   quietStep,
	"ListTaken":       quietStep,
	"ElementFailed":   quietStep,
	"ResultKept":      quietStep,
	"Folded":          quietStep,
	"StateChanged":    quietStep,
	"FactsDropped":    quietStep,
	"SignalReceived":  quietStep,
	"SignalTaken":     quietStep,
	"SignalExpired":   quietStep,
	"SignalAwaited":   quietStep,
	"SilenceAwaited":  quietStep,
	"PermitAsked":     quietStep,
	"PermitsReturned": quietStep,

	"DefinitionPinned":    quietBooks,
	"CommandIgnored":      quietBooks,
	"WorkInHand":          quietBooks,
	"RowsRemoved":         quietBooks,
	"CheckpointRequested": quietBooks,
	"RetentionArmed":      quietBooks,
	"WorkflowArchived":    quietBooks,
	"ArchiveAwaited":      quietBooks,
	"WorkflowRestored":    quietBooks,
	"WorkflowDeleting":    quietBooks,
	"WorkflowCancelling":  quietBooks,
	"WorkflowStopping":    quietBooks,

	"WorkflowPaused":   quietCommand,
	"WorkflowResumed":  quietCommand,
	"WorkflowRevived":  quietCommand,
	"CommandRefused":   quietCommand,
	"RunnableRetried":  quietCommand,
	"PoliciesSet":      quietCommand,
	"WorkflowMigrated": quietCommand,

	"WorkflowDrained": "WorkflowIdle, Completed, Stopped, Cancelled or Failed says it",

	"NoticeReported": quietNotice,
	"NoticeAccepted": quietNotice,
	"NoticesOver":    quietNotice,

	"PermitQueued": quietKey,
	"PermitIssued": quietKey,
	"PermitOver":   quietKey,
	"PermitDenied": quietKey,
	"KeySwept":     quietKey,

	"WorkOffered":        quietPool,
	"WorkGiven":          quietPool,
	"WorkBegun":          quietPool,
	"WorkAsked":          quietPool,
	"AttemptAsked":       quietPool,
	"AttemptDisowned":    quietPool,
	"WorkStopping":       quietPool,
	"WorkOver":           quietPool,
	"WorkDeclined":       quietPool,
	"OfferForestalled":   quietPool,
	"RunnerJoined":       quietPool,
	"RunnerConnected":    quietPool,
	"RunnerDisconnected": quietPool,
	"RunnerDraining":     quietPool,
	"RunnerStopped":      quietPool,
	"RunnerProgressed":   quietPool,
	"RunnerPassedOver":   quietPool,
	"ExecutorHeard":      quietPool,
	"ExecutorGone":       quietPool,
	"PoolSwept":          quietPool,
	"ExecutorDisowned":   quietPool,
	"PoolResized":        quietPool,
	"RunnerRedirected":   quietPool,
	"SlotsAsked":         quietPool,
	"SlotsSpared":        quietPool,

	"InputRejected":        quietPartition,
	"InputForwarded":       quietPartition,
	"InputLogTruncated":    quietPartition,
	"InputLost":            quietPartition,
	"EffectFailed":         quietPartition,
	"AuthorityMarkedStale": quietPartition,
	"AuthorityReleased":    quietPartition,
	"AuthorityAcquired":    quietPartition,
	"WorkflowQuarantined":  quietPartition,
	"ReplayRequested":      quietPartition,
	"QuarantineEnded":      quietPartition,
	"JournalLost":          quietPartition,
}

// Reasons to be quiet.
const (
	quietStep      = "part of a step"
	quietBooks     = "bookkeeping"
	quietCommand   = "the answer to a command says it"
	quietNotice    = "of the entity that calls receivers: what becomes of its calls is counted"
	quietKey       = "of the entity that grants permits: the workflow's attempt says what comes of one"
	quietPool      = "of a pool of runners, whose counts are metrics: the workflow's attempt says what comes of it"
	quietPartition = "of the partition, which has counters of its own"
)
