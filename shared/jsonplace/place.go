// Package jsonplace finds where in a JSON text something is wrong that encoding/json
// passes over.
package jsonplace

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// NotUTF8 finds the first byte that is no UTF-8, as JSON has to be, and the path of
// the value or name that it is in; -1 if there is none.
func NotUTF8(text []byte) (at int, path string) {
	if utf8.Valid(text) {
		return -1, ""
	}
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at, pathTo(text[:at])
}

// level is an object or a list on the way to a place.
type level struct {
	list  bool
	index int
	name  string // the last one that ended, if no value followed it yet, or its value
}

// pathTo is the path of what stands behind head, the beginning of a JSON text.
func pathTo(head []byte) string {
	var levels []level
	for i := 0; i < len(head); i++ {
		switch c := head[i]; c {
		case '{', '[':
			levels = append(levels, level{list: c == '['})
		case '}', ']':
			levels = levels[:max(len(levels)-1, 0)]
		case ',':
			if n := len(levels); n > 0 {
				levels[n-1].index++
				levels[n-1].name = ""
			}
		case '"':
			end := i + 1
			for end < len(head) && head[end] != '"' {
				if head[end] == '\\' {
					end++
				}
				end++
			}
			if n := len(levels); n > 0 && !levels[n-1].list && levels[n-1].name == "" && end < len(head) {
				levels[n-1].name = string(head[i+1 : end])
			}
			i = end
		}
	}
	return joinedPath(levels)
}

func joinedPath(levels []level) string {
	var b strings.Builder
	for _, l := range levels {
		switch {
		case l.list:
			b.WriteString("[" + strconv.Itoa(l.index) + "]")
		case l.name != "":
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(l.name)
		}
	}
	return b.String()
}
