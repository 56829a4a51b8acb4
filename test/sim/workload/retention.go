package workload

// retain draws how long a workflow is kept once it is at rest: for longer than any run lasts, however its
// clocks leap. So what is deleted early is missed.
func (d Dice) retain(w *Workflow) {
	if !d.One(4) {
		return
	}
	keep := Pick(d,
		map[string]any{"idle": "9000h"},
		map[string]any{"idle": "9000h", "completed": "9000h", "failed": "9000h", "cancelled": "forever"},
		map[string]any{"completed": "forever", "failed": "9000h", "cancelled": "9000h"})
	w.option("retain", keep, d.One(3))
}

// option gives a workflow an option, with its start or with its definition.
func (w *Workflow) option(name string, value any, withStart bool) {
	if !withStart {
		w.Graph.options[name] = value
		return
	}
	if w.Run == nil {
		w.Run = map[string]any{}
	}
	w.Run[name] = value
}
