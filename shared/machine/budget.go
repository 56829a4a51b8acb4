package machine

// Budget bounds one decision: what it may write, and what it may take. It is
// counted while the decision computes, and by decisions only: what was decided
// once is applied again whatever the budget is then. A decision that has spent its
// budget leaves the rest in hand, and Continue carries it on; only what can not be
// parted is refused. Zero fields take the defaults of Complete.
type Budget struct {
	Events int
	Bytes  int // of what its events say
	Steps  int // of expressions and of reading JSON, as package expr counts them: of a decision, and of one component alone, with StepsPerByte on top
	Tasks  int // bytes of the tasks that it admits
	Value  int // bytes of one value that a component makes, or a join puts together
}

// StepsPerByte of the values that arrive at a component are added to the steps that
// it may take: whatever may be sent may be read, and written once.
const StepsPerByte = 2

// Defaults of a budget: a few milliseconds, and little memory beside what one
// value takes.
const (
	DefaultEvents = 512
	DefaultBytes  = 256 << 10
	DefaultSteps  = 250_000
	DefaultTasks  = 4 << 20
	DefaultValue  = 4 << 20
)

// What a budget has at least. A decision does one thing at least, however much it
// takes: the least is what keeps pieces from being all overhead.
const (
	LeastEvents = 16
	LeastBytes  = 4 << 10
	LeastSteps  = 1000
	LeastTasks  = 64 << 10
	LeastValue  = 64 << 10
)

// Complete fills in the defaults.
func (b Budget) Complete() Budget {
	for _, f := range []struct {
		field *int
		usual int
	}{
		{&b.Events, DefaultEvents}, {&b.Bytes, DefaultBytes}, {&b.Steps, DefaultSteps},
		{&b.Tasks, DefaultTasks}, {&b.Value, DefaultValue},
	} {
		if *f.field == 0 {
			*f.field = f.usual
		}
	}
	return b
}
