package loop

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/machine"
	"github.com/heddle-run/heddle/shared/rows"
)

// lossReason is what a workflow is told that an accepted loss may concern.
func lossReason(e *events.InputLost) string {
	return Shortened(fmt.Sprintf("%s: %s; %s went on without them: %s", e.Log, WhatVanished(e), e.By.Who, e.By.Why))
}

// journalLossReason is the same of the journal.
func journalLossReason(e *events.JournalLost) string {
	return Shortened(fmt.Sprintf("journal: %s; %s went on from the last checkpoint: %s", e.Reason, e.By.Who, e.By.Why))
}

// quarantine is the walk over the workflows that a loss may concern. Nothing else is
// decided while it lasts, so none of them goes on before it has been asked. An owner that
// recovers in the middle begins it again: a workflow that is quarantined already says so.
type quarantine struct {
	log   events.Source // engine: the journal
	row   *quarantineRow
	after string // the last workflow that was asked
	held  uint64 // how many are quarantined by this owner
}

// quarantinePiece is how many workflows are asked at a time.
const quarantinePiece = 64

// RecallQuarantines reads those that the state says are under way.
func (p *Processor) RecallQuarantines() error {
	bad := p.contained(func() {
		for _, s := range [...]events.Source{events.FromEngine, events.FromCommands, events.FromInbox} {
			if row := rows.Get[quarantineRow](p.tx, quarantineKey(s)); row != nil {
				p.quarantines = append(p.quarantines, &quarantine{log: s, row: row})
			}
		}
		p.doubt = rows.Get[doubtRow](p.tx, doubtKey)
	})
	if bad != "" {
		p.Fail(fmt.Errorf("reading the quarantines: %s", bad))
	}
	return p.fault
}

// quarantineSome asks some workflows, and says that one is over.
func (p *Processor) quarantineSome() {
	q := p.quarantines[0]
	names, err := p.Workflows.After(q.after, quarantinePiece)
	if err != nil {
		p.Fail(fmt.Errorf("reading the workflows of a quarantine: %w", err))
		return
	}
	for _, name := range names {
		q.after = name
		if p.decide(&decision{in: machine.Input{
			Workflow: name, Source: events.FromEngine, Quarantine: &machine.Quarantine{Reason: q.row.Reason, Active: q.row.Active},
		}}) {
			q.held++
		}
	}
	if len(names) == quarantinePiece || p.fault != nil {
		return
	}
	p.quarantines = p.quarantines[1:]
	p.Logger.Warn("workflows that a loss may concern are paused until somebody resumes them", "workflows", q.held, "reason", q.row.Reason)
	p.decide(&decision{own: &events.QuarantineEnded{Log: q.log, Workflows: q.held}})
}

// doubted is the quarantine that a start comes with which a lost journal may have decided;
// nil for any other command.
func (p *Processor) doubted(ref events.InputRef, cmd *events.Command) *machine.Quarantine {
	d := p.doubt
	if d == nil || ref.Generation != d.Generation || ref.Offset >= d.Below {
		return nil
	}
	if _, starts := cmd.Body.(*events.StartWorkflow); !starts {
		return nil
	}
	return &machine.Quarantine{Reason: d.Reason}
}

// Workflows tells which workflows a partition has.
type Workflows interface {
	// After are the next ones in their order behind a name, at most so many; fewer
	// are the last.
	After(name string, most int) ([]string, error)
}
