package loop

// mostSpare bounds what is kept of one kind for later.
const mostSpare = 256

// spares are things that nothing refers to any more, to be used again.
type spares[T any] struct{ all []*T }

// take is one of them, or a new one.
func (s *spares[T]) take() *T {
	n := len(s.all)
	if n == 0 {
		return new(T)
	}
	t := s.all[n-1]
	s.all = s.all[:n-1]
	return t
}

// keep keeps one as it will be when it is taken again, unless there are enough.
func (s *spares[T]) keep(t *T, as T) {
	if len(s.all) < mostSpare {
		*t = as
		s.all = append(s.all, t)
	}
}
