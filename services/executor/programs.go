package executor

import (
	"sync"

	"github.com/heddle-run/heddle/shared/expr"
)

// maxPrograms bounds the expressions that are kept compiled.
const maxPrograms = 256

// programs keeps compiled expressions: steps come again with the same ones.
type programs struct {
	mu    sync.Mutex
	known map[string]*expr.Program
}

func (p *programs) compile(source string) (*expr.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if program, ok := p.known[source]; ok {
		return program, nil
	}
	program, err := expr.Compile(source)
	if err != nil {
		return nil, err
	}
	if p.known == nil || len(p.known) >= maxPrograms {
		p.known = map[string]*expr.Program{}
	}
	p.known[source] = program
	return program, nil
}
