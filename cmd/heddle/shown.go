package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown is a text as a person may read it on one line of a terminal: what others
// wrote may hold newlines that make up lines, escape sequences that a terminal
// obeys, and characters that turn the order of letters around. JSON output is as it is.
func shown[T ~string](text T) string {
	s := string(text)
	if plain(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// plain reports whether there is nothing to escape, as in most texts.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0
		}
	}
	return true
}

// paragraph is a text of several lines as shown, the later ones set in: none looks
// like another message.
func paragraph(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = shown(line)
		if i > 0 && line != "" && !strings.HasPrefix(line, " ") {
			lines[i] = "  " + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// drawing is a text of several lines as shown, each where it is.
func drawing(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = shown(line)
	}
	return strings.Join(lines, "\n")
}
