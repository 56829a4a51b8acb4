package events

// Weight is about how many bytes an event takes in a record, and no more than
// that: the long ones of its values. It costs nothing to ask, unlike encoding it.
func Weight(e Event) int {
	switch e := e.(type) {
	case *RunnableReady:
		return leastEvent + len(e.Policy) + len(e.Parents)
	case *FactProduced:
		return leastEvent + len(e.Value) + len(e.Parents)
	case *RunnableCompleted:
		return leastEvent + len(e.Value) + len(e.Executor)
	case *RunnableDispatched:
		return leastEvent + len(e.Queue) + len(e.Key) + len(e.Pool)
	case *RunnableFailed:
		return leastEvent + e.Error.weight() + len(e.Executor)
	case *FallbackApplied:
		return leastEvent + e.Error.weight()
	case *ProbeAnswered:
		return leastEvent + len(e.Executor)
	case *OutcomeArrived:
		return leastEvent + len(e.Executor)
	case *FailureCaught:
		return leastEvent + len(e.Value)
	case *RunnableTimedOut:
		return leastEvent + e.Error.weight()
	case *RunnableLost:
		return leastEvent + e.Error.weight()
	case *RunnableRetried:
		return leastEvent + len(e.Input) + e.By.weight()
	case *RunnableHeartbeat:
		return leastEvent + len(e.Details) + len(e.Reason)
	case *KeysKept:
		return e.weight()
	case *InputAccepted:
		return leastEvent + len(e.Value) + len(e.Policies) + len(e.Context) + e.By.weight()
	case *WorkflowStarted:
		return leastEvent + len(e.Digest) + len(e.Name) + len(e.Version) + len(e.Options) +
			len(e.Policies) + len(e.Context) + len(e.Own) + len(e.Labels) + e.By.weight()
	case *WorkflowResumed:
		return leastEvent + len(e.Policies) + len(e.Context) + e.By.weight()
	case *PoliciesSet:
		return leastEvent + len(e.Policies) + e.By.weight()
	case *WorkflowMigrated:
		return e.weight()
	case *WorkflowRestored:
		return e.weight()
	case *DefinitionPinned:
		return leastEvent + len(e.Digest) + len(e.Canonical)
	case *WorkflowFailed:
		return leastEvent + e.Error.weight()
	case *CommandRefused:
		return leastEvent + len(e.Command) + len(e.Code) + len(e.Message) + len(e.Path)
	case *WorkflowDeleted:
		n := leastEvent + e.By.weight() + leastEvent*len(e.Open) + told(e.Told)
		for i := range e.Open {
			n += len(e.Open[i].Pool)
		}
		return n
	case *PermitAsked:
		return leastEvent + len(e.Key)
	case *AttemptDenied:
		return leastEvent + len(e.Key) + len(e.Queue)
	case *PermitsReturned:
		n := leastEvent
		for i := range e.Permits {
			n += leastEvent + len(e.Permits[i].Key)
		}
		return n
	case *NoticeAccepted:
		return leastEvent + len(e.Notice.ID) + len(e.Notice.URL) + len(e.Notice.Body) + len(e.Notice.Trace)
	case *NoticeReported:
		return leastEvent + e.Report.weight()
	case *RunnableNotified:
		return leastEvent + len(e.Channel) + len(e.Executor)
	case *RunnableReturned:
		return leastEvent + len(e.Reason) + len(e.Shard)
	case *RunnableSkipped:
		return leastEvent + e.By.weight()
	case *WorkflowPaused:
		return leastEvent + e.By.weight() + len(e.Quarantine)
	case *WorkflowStopping:
		return leastEvent + e.By.weight()
	case *WorkflowCancelled:
		return leastEvent + e.By.weight()
	case *WorkflowCancelling:
		return leastEvent + e.By.weight()
	case *WorkflowDeleting:
		return leastEvent + e.By.weight() + told(e.Told)
	case *WorkInHand:
		n := leastEvent
		for i := range e.Added {
			n += e.Added[i].weight()
		}
		return n
	case *ListTaken:
		return e.weight()
	case *ElementFailed:
		return leastEvent + e.Error.weight()
	case *ResultKept:
		if e.Error == nil {
			return leastEvent
		}
		return leastEvent + e.Error.weight()
	case *Folded:
		return leastEvent + len(e.Value)
	case *SignalReceived:
		return leastEvent + len(e.Name) + len(e.Key) + len(e.Value) + e.By.weight()
	case *SignalAwaited:
		return leastEvent + len(e.Key)
	case *ScopeOpened:
		return leastEvent + len(e.Value)
	case *StateChanged:
		return leastEvent + len(e.Value) + len(e.Parents)
	case *CheckpointRequested:
		return leastEvent + e.By.weight()
	case *CommandIgnored:
		return leastEvent + len(e.Command)
	}
	return leastEvent
}

// leastEvent is what the shortest event takes.
const leastEvent = 2

func (e *TaskError) weight() int { return len(e.Type) + len(e.Message) + len(e.Details) }

func (b *By) weight() int { return len(b.Who) + len(b.Why) }

func told(list []ReplyTo) (n int) {
	for i := range list {
		n += len(list[i].Address) + len(list[i].ID) + len(list[i].Command)
	}
	return n
}

func (r *NoticeReport) weight() int {
	if r.Error == nil {
		return 0
	}
	return r.Error.weight()
}
