package sim

import (
	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// forgetless is a machine with a flaw: what some event does away with stays.
type forgetless struct {
	machine.Machine
	keeps  func(events.Event) bool
	tables map[rows.Table]bool
	known  map[rows.Key]rows.Row // as they were written last
}

// flawed gives a machine the flaws that are its own.
func (w *world) flawed(m machine.Machine) machine.Machine {
	f := &forgetless{Machine: m, known: map[rows.Key]rows.Row{}}
	switch {
	case w.o.Flaws.SharedSignals.On():
		f.keeps = func(e events.Event) bool { _, taken := e.(*events.SignalTaken); return taken }
		f.tables = map[rows.Table]bool{rows.Signal: true, rows.Match: true}
	case w.o.Flaws.TwiceFired.On():
		f.keeps = func(e events.Event) bool { fired, is := e.(*events.TimerFired); return is && fired.Fact != 0 }
		f.tables = map[rows.Table]bool{rows.Timer: true, rows.Runnable: true}
	case w.o.Flaws.TwiceFallen.On():
		f.keeps = func(e events.Event) bool { _, fell := e.(*events.FallbackApplied); return fell }
		f.tables = map[rows.Table]bool{rows.Runnable: true}
	case w.o.Flaws.TwiceArrived.On():
		f.keeps = func(e events.Event) bool { _, arrived := e.(*events.OutcomeArrived); return arrived }
		f.tables = map[rows.Table]bool{rows.Runnable: true}
	case w.o.Flaws.LostElements.On():
		return losing{m}
	case w.o.Flaws.TwiceElements.On():
		return &repeating{m, map[rows.Key]rows.Row{}, map[events.ScopeID]events.RunnableID{}}
	case w.o.Flaws.UnorderedFolds.On():
		return &disordering{m, map[rows.Key]rows.Write{}}
	case w.o.Flaws.TwoFolds.On():
		return &stale{m, map[rows.Key]rows.Row{}}
	case w.o.Flaws.TwiceFolded.On():
		return twice{m}
	case w.o.Flaws.LostContexts.On():
		return contextless{m}
	case w.o.Flaws.OtherKeys.On():
		return rekeying{m}
	case w.o.Flaws.EndlessSilence.On():
		return patient{m}
	case w.o.Flaws.UndatedEnds.On():
		return undated{m}
	case w.o.Flaws.UnheardBegins.On():
		return &unheard{m, machine.TimerStart, map[rows.Key]rows.Row{}}
	case w.o.Flaws.UnheardBeats.On():
		return &unheard{m, machine.TimerSilent, map[rows.Key]rows.Row{}}
	case w.o.Flaws.LostNotices.On():
		return unsaid{m}
	case w.o.Flaws.TwicePermits.On():
		return generous{m}
	case w.o.Flaws.KeptPermits.On():
		return greedy{m}
	case w.o.Flaws.NewRates.On():
		return timeless{m}
	case w.o.Flaws.TwoProbes.On():
		return probing{m}
	case w.o.Flaws.NewBreakers.On():
		return closing{m}
	case w.o.Flaws.TwiceJudged.On():
		f.keeps = failure
		f.tables = map[rows.Table]bool{rows.Match: true, rows.Fact: true}
		return recounting{f}
	case w.o.Flaws.RenamedNotices.On():
		return renaming{m}
	default:
		return m
	}
	return f
}

// Decide implements machine.Machine.
func (f *forgetless) Decide(tx *rows.Tx, at events.Position, now int64, in machine.Input) machine.Outcome {
	out := f.Machine.Decide(tx, at, now, in)
	f.keep(tx, out.Events)
	return out
}

// keep puts back what the events of a record have done away with.
func (f *forgetless) keep(tx *rows.Tx, list []events.Event) {
	stays := false
	for _, e := range list {
		stays = stays || f.keeps(e)
	}
	for _, w := range append([]rows.Write(nil), tx.Writes()...) {
		switch old := f.known[w.Key]; {
		case !f.tables[w.Key.Table]:
		case w.Row != nil:
			f.known[w.Key] = w.Row
		case stays && old != nil:
			tx.Put(w.Key, old)
		}
	}
}
