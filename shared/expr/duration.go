package expr

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// ParseDuration reads a duration as Go writes it ("1m30s"), with d for days of 24 hours ("7d", "1d12h"), or as ISO 8601
// ("PT1M30S", "P1DT12H", "P2W"; not years and months, which have no fixed length). It may be negative.
func ParseDuration(s string) (time.Duration, error) {
	d, err := parseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration; write 1m30s, 7d or PT1M30S", s)
	}
	return d, nil
}

func parseDuration(s string) (time.Duration, error) {
	body, negative := strings.CutPrefix(s, "-")
	if !negative {
		body = strings.TrimPrefix(s, "+")
	}
	var d time.Duration
	var err error
	if iso, ok := strings.CutPrefix(body, "P"); ok {
		d, err = parseISO(iso)
	} else {
		d, err = parseGo(body)
	}
	if err == nil && negative {
		d = -d
	}
	return d, err
}

// parseGo reads a duration without sign, in days and what Go knows.
func parseGo(s string) (time.Duration, error) {
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, errSyntax
	}
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	total, err := inUnit(days, 24*time.Hour)
	if err != nil || rest == "" {
		return total, err
	}
	d, err := time.ParseDuration(rest)
	if err != nil {
		return 0, err
	}
	sum, err := addInts(int64(total), int64(d))
	return time.Duration(sum), err
}

// inUnit reads a decimal number of units.
func inUnit(number string, unit time.Duration) (time.Duration, error) {
	v, err := ParseNumber(number)
	if err != nil {
		return 0, err
	}
	product, err := arithmetic("*", v, int64(unit))
	if err != nil {
		return 0, err
	}
	d, err := toDuration(product)
	if err != nil || d.(time.Duration) < 0 {
		return 0, errSyntax
	}
	return d.(time.Duration), nil
}

// parseISO reads what follows the P. Units come in order, each at most once.
func parseISO(s string) (time.Duration, error) {
	date, clock, hasClock := strings.Cut(s, "T")
	if date == "" && clock == "" || hasClock && clock == "" {
		return 0, errSyntax
	}
	a, err := isoParts(date, "WD", []time.Duration{7 * 24 * time.Hour, 24 * time.Hour})
	if err != nil {
		return 0, err
	}
	b, err := isoParts(clock, "HMS", []time.Duration{time.Hour, time.Minute, time.Second})
	if err != nil {
		return 0, err
	}
	sum, err := addInts(int64(a), int64(b))
	return time.Duration(sum), err
}

func isoParts(s, letters string, units []time.Duration) (total time.Duration, err error) {
	for s != "" {
		end := strings.IndexAny(s, letters)
		if end < 0 {
			return 0, errSyntax
		}
		unit := strings.IndexByte(letters, s[end])
		part, err := inUnit(s[:end], units[unit])
		if err != nil {
			return 0, err
		}
		if total > math.MaxInt64-part {
			return 0, errOverflow
		}
		total += part
		s, letters, units = s[end+1:], letters[unit+1:], units[unit+1:]
	}
	return total, nil
}
