package machine

// Budget bounds one decision: what it may write, and what it may take. It is
// counted while the decision computes, and by decisions only: what was decided
// once is applied again whatever the budget is then. Zero fields take the
// defaults of Complete.
type Budget struct {
	Bytes  int // of what its events say; a journal record has room for about as many
	Events int
	Steps  int // of expressions and of reading JSON, as package expr counts them; StepsPerByte come on top
	Tasks  int // bytes of the tasks that it admits, if attempts are open that end: the others are admitted then
}

// StepsPerByte of the values that an input brings are added to the steps of its
// decision: whatever may be sent may be read, and written once.
const StepsPerByte = 2

// Defaults of a budget: no less than what a journal record holds, a few
// milliseconds, and a fraction of the memory of a planner.
const (
	DefaultBytes  = 4 << 20
	DefaultEvents = 1 << 18
	DefaultSteps  = 250_000
	DefaultTasks  = 32 << 20
)

// What a budget has at least: enough for a refusal, and for a workflow to fail
// and say why.
const (
	LeastBytes  = 256 << 10
	LeastEvents = 64
	LeastSteps  = 1000
	LeastTasks  = 64 << 10
)

// Complete fills in the defaults.
func (b Budget) Complete() Budget {
	for _, f := range []struct {
		field *int
		usual int
	}{{&b.Bytes, DefaultBytes}, {&b.Events, DefaultEvents}, {&b.Steps, DefaultSteps}, {&b.Tasks, DefaultTasks}} {
		if *f.field == 0 {
			*f.field = f.usual
		}
	}
	return b
}
