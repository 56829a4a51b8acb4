// Package spelling finds the name that was probably meant by one that nobody knows.
package spelling

import "strings"

// Nearest is the one of names that is most like name: at most half of its letters
// differ, whatever their case. Of several that which begins like it for longer, else
// the first. Empty if none is like it.
func Nearest(name string, names []string) string {
	best, least, begin := "", len(name)/2+1, 0
	for _, n := range names {
		if more := len(n) - len(name); more > least || -more > least {
			continue // as many letters differ
		}
		d, same := distance(strings.ToLower(name), strings.ToLower(n)), common(name, n)
		if d < least || d == least && best != "" && same > begin {
			best, least, begin = n, d, same
		}
	}
	return best
}

// Meant is a remark behind an unknown name: the one of names that was probably meant, in brackets behind a blank. Empty if
// none is like it.
func Meant(name string, names []string) string {
	if best := Nearest(name, names); best != "" {
		return " (did you mean " + best + "?)"
	}
	return ""
}

// common is how many bytes two names begin with alike.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// distance is the number of bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
