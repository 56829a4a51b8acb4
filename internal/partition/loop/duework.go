package loop

import "maps"

// checkpointNow asks for a checkpoint of everything as soon as one can be written.
func (p *Processor) checkpointNow() { p.wanted = true }

// WantsAll says that a checkpoint of everything was asked for, or is what inputs wait for.
func (p *Processor) WantsAll() bool { return p.wanted || p.pressed(0) }

// TakeDue are the workflows that their strategies made due.
func (p *Processor) TakeDue() map[string]struct{} {
	due := p.due
	p.due, p.wanted = map[string]struct{}{}, false
	return due
}

// PutBack makes workflows due again, whose rows no checkpoint is known to have written.
func (p *Processor) PutBack(due map[string]struct{}) { maps.Copy(p.due, due) }
