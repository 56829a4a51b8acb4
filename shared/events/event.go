package events

import (
	"fmt"
	"slices"

	"github.com/heddle-run/heddle/shared/wire"
)

// Event is a past-tense fact of the journal: a closed set.
type Event interface {
	wire.Message
	number() int
}

// kinds lists every event once: its number for ever, its name, its making.
var kinds = map[int]struct {
	name string
	make func() Event
}{
	1:  {"WorkflowStarted", func() Event { return &WorkflowStarted{} }},
	2:  {"InputAccepted", func() Event { return &InputAccepted{} }},
	3:  {"FactProduced", func() Event { return &FactProduced{} }},
	4:  {"RunnableReady", func() Event { return &RunnableReady{} }},
	5:  {"RunnableDispatched", func() Event { return &RunnableDispatched{} }},
	6:  {"RunnableNotified", func() Event { return &RunnableNotified{} }},
	7:  {"RunnableCompleted", func() Event { return &RunnableCompleted{} }},
	8:  {"RunnableFailed", func() Event { return &RunnableFailed{} }},
	9:  {"RunnableTimedOut", func() Event { return &RunnableTimedOut{} }},
	10: {"RunnableLost", func() Event { return &RunnableLost{} }},
	11: {"RunnableReturned", func() Event { return &RunnableReturned{} }},
	12: {"RetryScheduled", func() Event { return &RetryScheduled{} }},
	13: {"RunnableSuppressed", func() Event { return &RunnableSuppressed{} }},
	14: {"BranchNotTaken", func() Event { return &BranchNotTaken{} }},
	15: {"JoinArmArrived", func() Event { return &JoinArmArrived{} }},
	16: {"TimerArmed", func() Event { return &TimerArmed{} }},
	17: {"TimerFired", func() Event { return &TimerFired{} }},
	18: {"InputSettled", func() Event { return &InputSettled{} }},
	19: {"WorkflowIdle", func() Event { return &WorkflowIdle{} }},
	20: {"WorkflowFailed", func() Event { return &WorkflowFailed{} }},
	21: {"WorkflowPaused", func() Event { return &WorkflowPaused{} }},
	22: {"WorkflowResumed", func() Event { return &WorkflowResumed{} }},
	23: {"WorkflowStopping", func() Event { return &WorkflowStopping{} }},
	24: {"WorkflowStopped", func() Event { return &WorkflowStopped{} }},
	25: {"WorkflowCancelled", func() Event { return &WorkflowCancelled{} }},
	26: {"WorkflowCompleted", func() Event { return &WorkflowCompleted{} }},
	27: {"WorkflowDeleted", func() Event { return &WorkflowDeleted{} }},
	28: {"CommandRefused", func() Event { return &CommandRefused{} }},
	29: {"RunnableCancelled", func() Event { return &RunnableCancelled{} }},
	30: {"RunnableSkipped", func() Event { return &RunnableSkipped{} }},
	31: {"RunnableRetried", func() Event { return &RunnableRetried{} }},
	32: {"RunnableHeartbeat", func() Event { return &RunnableHeartbeat{} }},
	33: {"CheckpointRequested", func() Event { return &CheckpointRequested{} }},
	34: {"DefinitionPinned", func() Event { return &DefinitionPinned{} }},
	35: {"JoinArmDied", func() Event { return &JoinArmDied{} }},
	36: {"CommandIgnored", func() Event { return &CommandIgnored{} }},
	37: {"WorkflowRevived", func() Event { return &WorkflowRevived{} }},
	38: {"WorkInHand", func() Event { return &WorkInHand{} }},
	39: {"WorkflowCancelling", func() Event { return &WorkflowCancelling{} }},
	40: {"WorkflowDeleting", func() Event { return &WorkflowDeleting{} }},
	41: {"RowsRemoved", func() Event { return &RowsRemoved{} }},
	42: {"FannedOut", func() Event { return &FannedOut{} }},
	43: {"ScopeOpened", func() Event { return &ScopeOpened{} }},
	44: {"ScopeClosed", func() Event { return &ScopeClosed{} }},
	45: {"FailureCaught", func() Event { return &FailureCaught{} }},
	48: {"FallbackApplied", func() Event { return &FallbackApplied{} }},
	49: {"ProbeAnswered", func() Event { return &ProbeAnswered{} }},
	50: {"ListTaken", func() Event { return &ListTaken{} }},
	51: {"ElementFailed", func() Event { return &ElementFailed{} }},
	52: {"ResultKept", func() Event { return &ResultKept{} }},
	53: {"Folded", func() Event { return &Folded{} }},
	54: {"StateChanged", func() Event { return &StateChanged{} }},
	55: {"FactsDropped", func() Event { return &FactsDropped{} }},
	56: {"OutcomeArrived", func() Event { return &OutcomeArrived{} }},

	64: {"InputRejected", func() Event { return &InputRejected{} }},
	65: {"InputForwarded", func() Event { return &InputForwarded{} }},
	66: {"InputLogTruncated", func() Event { return &InputLogTruncated{} }},
	67: {"InputLost", func() Event { return &InputLost{} }},
	68: {"EffectFailed", func() Event { return &EffectFailed{} }},
	69: {"AuthorityMarkedStale", func() Event { return &AuthorityMarkedStale{} }},
	70: {"AuthorityReleased", func() Event { return &AuthorityReleased{} }},
	71: {"AuthorityAcquired", func() Event { return &AuthorityAcquired{} }},
	72: {"WorkflowQuarantined", func() Event { return &WorkflowQuarantined{} }},
	73: {"ReplayRequested", func() Event { return &ReplayRequested{} }},
	74: {"QuarantineEnded", func() Event { return &QuarantineEnded{} }},
	75: {"JournalLost", func() Event { return &JournalLost{} }},
	76: {"LeaderNotificationDeferred", func() Event { return &LeaderNotificationDeferred{} }},
	77: {"DispatchesRemoved", func() Event { return &DispatchesRemoved{} }},
	78: {"DeliveryConfirmedLate", func() Event { return &DeliveryConfirmedLate{} }},
	63: {"PermitsReturned", func() Event { return &PermitsReturned{} }},
	80: {"PermitAsked", func() Event { return &PermitAsked{} }},
	81: {"WorkflowArchived", func() Event { return &WorkflowArchived{} }},
	82: {"PermitQueued", func() Event { return &PermitQueued{} }},
	83: {"PermitIssued", func() Event { return &PermitIssued{} }},
	84: {"PermitOver", func() Event { return &PermitOver{} }},
	85: {"KeySwept", func() Event { return &KeySwept{} }},
	86: {"PoliciesSet", func() Event { return &PoliciesSet{} }},
	87: {"RetentionArmed", func() Event { return &RetentionArmed{} }},
	88: {"WorkflowMigrated", func() Event { return &WorkflowMigrated{} }},
	92: {"WorkflowDrained", func() Event { return &WorkflowDrained{} }},
	93: {"NoticeReported", func() Event { return &NoticeReported{} }},
	94: {"NoticeAccepted", func() Event { return &NoticeAccepted{} }},
	95: {"NoticesOver", func() Event { return &NoticesOver{} }},
	96: {"PermitDenied", func() Event { return &PermitDenied{} }},
	97: {"BreakerTurned", func() Event { return &BreakerTurned{} }},
	98: {"AttemptDenied", func() Event { return &AttemptDenied{} }},
	99: {"ArchiveAwaited", func() Event { return &ArchiveAwaited{} }},

	100: {"WorkflowRestored", func() Event { return &WorkflowRestored{} }},
	101: {"WorkOffered", func() Event { return &WorkOffered{} }},
	102: {"WorkGiven", func() Event { return &WorkGiven{} }},
	103: {"WorkBegun", func() Event { return &WorkBegun{} }},
	104: {"WorkStopping", func() Event { return &WorkStopping{} }},
	105: {"WorkOver", func() Event { return &WorkOver{} }},
	106: {"WorkDeclined", func() Event { return &WorkDeclined{} }},
	107: {"OfferForestalled", func() Event { return &OfferForestalled{} }},
	108: {"RunnerJoined", func() Event { return &RunnerJoined{} }},
	109: {"RunnerConnected", func() Event { return &RunnerConnected{} }},
	110: {"RunnerDisconnected", func() Event { return &RunnerDisconnected{} }},
	111: {"RunnerDraining", func() Event { return &RunnerDraining{} }},
	112: {"RunnerStopped", func() Event { return &RunnerStopped{} }},
	113: {"RunnerProgressed", func() Event { return &RunnerProgressed{} }},
	114: {"RunnerPassedOver", func() Event { return &RunnerPassedOver{} }},
	115: {"ExecutorHeard", func() Event { return &ExecutorHeard{} }},
	116: {"ExecutorGone", func() Event { return &ExecutorGone{} }},
	117: {"PoolSwept", func() Event { return &PoolSwept{} }},
	118: {"ExecutorDisowned", func() Event { return &ExecutorDisowned{} }},
	119: {"KeysKept", func() Event { return &KeysKept{} }},
	120: {"AlarmSet", func() Event { return &AlarmSet{} }},
	121: {"RunnableParked", func() Event { return &RunnableParked{} }},
	122: {"WorkAsked", func() Event { return &WorkAsked{} }},
	123: {"AttemptAsked", func() Event { return &AttemptAsked{} }},
	124: {"AttemptDisowned", func() Event { return &AttemptDisowned{} }},
	130: {"PoolResized", func() Event { return &PoolResized{} }},
	131: {"RunnerRedirected", func() Event { return &RunnerRedirected{} }},
	132: {"SlotsAsked", func() Event { return &SlotsAsked{} }},
	133: {"SlotsSpared", func() Event { return &SlotsSpared{} }},
	57:  {"SignalReceived", func() Event { return &SignalReceived{} }},
	58:  {"SignalTaken", func() Event { return &SignalTaken{} }},
	59:  {"SignalExpired", func() Event { return &SignalExpired{} }},
	60:  {"SignalAwaited", func() Event { return &SignalAwaited{} }},
	61:  {"SilenceAwaited", func() Event { return &SilenceAwaited{} }},
	62:  {"TimerMoved", func() Event { return &TimerMoved{} }},
}

// Numbers are the numbers of all events, ascending.
func Numbers() []int {
	all := make([]int, 0, len(kinds))
	for n := range kinds { // order: sorted below
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// Names are the names of all events, by number.
func Names() []string {
	var all []string
	for _, n := range Numbers() {
		all = append(all, kinds[n].name)
	}
	return all
}

// Number is the event's number in the journal.
func Number(e Event) int { return e.number() }

// Name is the event's name in the journal and the history.
func Name(e Event) string { return kinds[e.number()].name }

// New makes an empty event of a number, if there is such an event.
func New(n int) (Event, bool) {
	k, ok := kinds[n]
	if !ok {
		return nil, false
	}
	return k.make(), true
}

// Envelope carries one event in a record.
type Envelope struct{ Event Event }

// Fields implements wire.Message.
func (v *Envelope) Fields(c *wire.Codec) {
	wire.OneOf(c, &v.Event, Event.number, func(n int) string { return kinds[n].name }, New, numbers)
}

var numbers = Numbers()

func eventsField(c *wire.Codec, num int, list *[]Event) {
	if c.Decoding() {
		var all []Envelope
		wire.Repeated(c, num, "events", &all)
		for i := range all {
			if all[i].Event == nil {
				c.Fail(fmt.Errorf("event %d is empty", i))
				return
			}
			*list = append(*list, all[i].Event)
		}
		return
	}
	if c.Encoding() {
		var e Envelope
		for _, e.Event = range *list {
			c.Element(num, &e)
		}
		return
	}
	all := make([]Envelope, len(*list))
	for i, e := range *list {
		all[i].Event = e
	}
	wire.Repeated(c, num, "events", &all)
}
