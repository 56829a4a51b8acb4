package scan

// Scan takes a text from its beginning. Once it is strange it stays so, and what
// is taken means nothing.
type Scan struct {
	rest    []byte
	strange bool
	first   bool // an object was opened just now
}

// Of is a scan of a text, which must not change as long as what was taken is used.
func Of(text []byte) Scan { return Scan{rest: text} }

// Done reports whether the whole text was taken and nothing of it is strange.
func (s *Scan) Done() bool { return !s.strange && len(s.rest) == 0 }

// Fail makes the text strange: for a reader that finds it so.
func (s *Scan) Fail() { s.strange = true }

// Strange reports whether the text turned out to be unusual so far.
func (s *Scan) Strange() bool { return s.strange }

// Has takes a literal if it comes next.
func (s *Scan) Has(literal string) bool {
	if len(s.rest) < len(literal) || string(s.rest[:len(literal)]) != literal {
		return false
	}
	s.rest = s.rest[len(literal):]
	return true
}

// Literal takes what has to come next.
func (s *Scan) Literal(want string) {
	if !s.Has(want) {
		s.strange = true
	}
}

// Text takes a literal and a string in plain ASCII, whose content it returns.
// All that JSON could write in two ways is strange.
func (s *Scan) Text(before string) []byte {
	s.Literal(before)
	if len(s.rest) > 0 && s.rest[0] == '"' {
		for i, c := range s.rest[1:] {
			if c == '"' {
				t := s.rest[1 : i+1 : i+1]
				s.rest = s.rest[i+2:]
				return t
			}
			if c < ' ' || c > '~' || c == '\\' {
				break
			}
		}
	}
	s.strange = true
	return nil
}

// maxDigits is the longest number that surely fits 63 bits.
const maxDigits = 18

// Natural takes a literal and a natural number of at most 18 digits.
func (s *Scan) Natural(before string) uint64 {
	s.Literal(before)
	var v uint64
	n := 0
	for n < len(s.rest) && digit(s.rest[n]) {
		v = 10*v + uint64(s.rest[n]-'0')
		n++
	}
	if n == 0 || n > maxDigits || n > 1 && s.rest[0] == '0' || n < len(s.rest) && fraction(s.rest[n]) {
		s.strange = true
		return 0
	}
	s.rest = s.rest[n:]
	return v
}

func fraction(c byte) bool { return c == '.' || c|0x20 == 'e' }

// Value takes any JSON value, as it stands there.
func (s *Scan) Value() []byte {
	w := walk{text: s.rest}
	if s.strange || len(s.rest) == 0 || s.rest[0] <= ' ' || !w.value() {
		s.strange = true
		return nil
	}
	s.rest = s.rest[w.at:]
	return w.text[:w.at:w.at]
}

// Object takes the beginning of an object, whose members Member takes.
func (s *Scan) Object() {
	s.Literal("{")
	s.first = true
}

// Member takes the name of an object's next member and its colon; the value is
// to be taken next. It returns false behind the last one, and when the text is
// strange.
func (s *Scan) Member() (name []byte, ok bool) {
	if s.strange {
		return nil, false
	}
	if s.Has("}") {
		s.first = false
		return nil, false
	}
	if !s.first {
		s.Literal(",")
	}
	s.first = false
	name = s.Text("")
	s.Literal(":")
	return name, !s.strange
}
