package partition

import "maps"

// checkpointNow asks for a checkpoint of everything as soon as one can be written.
func (p *Processor) checkpointNow() { p.wanted = true }

// wantsAll says that a checkpoint of everything was asked for, or is what inputs wait for.
func (p *Processor) wantsAll() bool { return p.wanted || p.pressed(0) }

// takeDue are the workflows that their strategies made due.
func (p *Processor) takeDue() map[string]struct{} {
	due := p.due
	p.due, p.wanted = map[string]struct{}{}, false
	return due
}

// putBack makes workflows due again, whose rows no checkpoint is known to have written.
func (p *Processor) putBack(due map[string]struct{}) { maps.Copy(p.due, due) }
