package planner

import (
	"cmp"
	"fmt"
	"time"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// silence is how long the open attempt of a runnable, or the next one, may be silent; 0: for as long as it
// likes. What runs instead of the component's own task may not know that it is to give heartbeats.
func (r *runnable) silence(pol policy.Policy) time.Duration {
	if pol.HeartbeatTimeout == 0 || r.other(pol).Task != "" {
		return 0
	}
	return pol.HeartbeatTimeout
}

// alive lets the time begin until which the open attempt must give its next heartbeat.
func (rs *runnables) alive(id events.RunnableID, r *runnable) {
	if silence := r.silence(r.policy()); silence > 0 {
		l := r.limit()
		l.Silent = rs.now + silence.Milliseconds()
		rs.limitTo(id, r, l)
	}
}

// beat takes a heartbeat, and the details that came with it.
func (rs *runnables) beat(e *events.RunnableHeartbeat) {
	r := rs.change(e.Runnable)
	if len(e.Details) > 0 {
		r.Heartbeat = e.Details
	}
	r.Reason = cmp.Or(e.Reason, r.Reason)
	rs.alive(e.Runnable, r)
}

// silent ends an attempt that has given no heartbeat in time.
func (en *ends) silent(id events.RunnableID, r *runnable) {
	en.failFor(id, events.TaskError{
		Type:    events.ErrorHeartbeatTimeout,
		Message: fmt.Sprintf("the attempt gave no heartbeat within %s (heartbeat_timeout); whether it had effects is unknown", r.policy().HeartbeatTimeout),
	}, "", timedOutAttempt)
}
