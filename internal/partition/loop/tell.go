package loop

import (
	"runtime/debug"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// Observer is told what the records of an owner say, for telemetry: of each once the
// journal has acknowledged it, and of none that is replayed. It is called from the goroutines
// of all owners of a process, and must be quick. What it is given is valid during the call.
type Observer interface {
	Observe(rec *events.Record, told []machine.Told)
	// Detail reports whether it wants the fields that take more to find out.
	Detail() bool
}

// telling is what the loop needs to tell its observer.
type telling struct {
	teller machine.Teller // nil: nobody asks, or the machine has nothing to tell
	before *rows.Tx       // over the state as it is: without what the record at hand changes
}

func (t *telling) begin(c *Config) {
	if c.Observer == nil {
		return
	}
	if teller, ok := c.Machine.(machine.Teller); ok {
		t.teller, t.before = teller, rows.Begin(c.State)
	}
}

// tell notes what there is to tell of a record, before the state has its changes. It is told
// once the record is acknowledged. A defect of the telling is no reason to stop.
func (p *Processor) tell(f *flight) {
	if p.told.teller == nil || !events.OfMachine(&f.rec) {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			f.told = f.told[:0]
			if fault, ok := v.(rows.Fault); ok {
				p.Fail(fault)
				return
			}
			p.Logger.Error("a record is not told of", "workflow", f.rec.Workflow, "position", f.rec.Position.String(), "panic", v, "stack", string(debug.Stack()))
		}
	}()
	f.told = p.told.teller.Tell(p.told.before, p.tx, &f.rec, p.Observer.Detail(), f.told[:0])
}
