package definition

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// place is where a value stands in the source. It becomes a path only when something is wrong there: paths of all values
// would take the product of the source's length and the number of its values. nil is the top.
type place struct {
	above *place
	name  string // of a member
	index int    // of an item; -1: a member
}

// under is the place of a path.
func under(path string) *place { return &place{nil, path, -1} }

func (p *place) member(name string) *place { return &place{p, name, -1} }

func (p *place) item(index int) *place { return &place{p, "", index} }

// String is the path, with long names shortened.
func (p *place) String() string {
	var parts []string
	for ; p != nil; p = p.above {
		if p.index >= 0 {
			parts = append(parts, "["+strconv.Itoa(p.index)+"]")
			continue
		}
		if parts = append(parts, shortened(p.name)); p.above != nil {
			parts = append(parts, ".")
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, "")
}

// maxShown is how many bytes of what a definition says stand in an error.
const maxShown = 200

// shortened is a text that fits an error.
func shortened(s string) string {
	if len(s) <= maxShown {
		return s
	}
	end := maxShown
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
