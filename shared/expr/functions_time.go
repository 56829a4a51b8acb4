package expr

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
)

var timeFunctions = map[string]function{
	"now":      {nil, 0, timeKind, runNow},
	"date":     {[]kinds{stringKind, stringKind}, 1, timeKind, runDate},
	"duration": {[]kinds{stringKind}, 1, durationKind, runDuration},
}

func runNow(m *machine, _ ast.Node, _ []any) (any, error) { return m.env.Now.UTC(), nil }

// layouts are those that date reads without being told.
var layouts = [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"}

// runDate reads a time; without an offset it is UTC. Zone names mean different things on different machines and are
// refused.
func runDate(_ *machine, _ ast.Node, args []any) (any, error) {
	s := args[0].(string)
	if len(args) == 2 {
		layout := args[1].(string)
		if strings.Contains(layout, "MST") {
			return nil, errors.New("zone names differ between machines; use an offset (Z07:00)")
		}
		t, err := time.ParseInLocation(layout, s, time.UTC)
		if err != nil {
			return nil, fmt.Errorf("no date: %w", err)
		}
		return inRange(t)
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, s, time.UTC); err == nil {
			return inRange(t)
		}
	}
	return nil, fmt.Errorf("%s is no date; write 2006-01-02, 2006-01-02T15:04:05Z or give a layout", show(s))
}

func runDuration(_ *machine, _ ast.Node, args []any) (any, error) {
	return ParseDuration(args[0].(string))
}

var methods = map[string]method{
	"Year":         ofTime(func(t time.Time) int64 { return int64(t.Year()) }),
	"Month":        ofTime(func(t time.Time) int64 { return int64(t.Month()) }),
	"Day":          ofTime(func(t time.Time) int64 { return int64(t.Day()) }),
	"Hour":         ofTime(func(t time.Time) int64 { return int64(t.Hour()) }),
	"Minute":       ofTime(func(t time.Time) int64 { return int64(t.Minute()) }),
	"Second":       ofTime(func(t time.Time) int64 { return int64(t.Second()) }),
	"Weekday":      ofTime(func(t time.Time) int64 { return int64(t.Weekday()) }),
	"YearDay":      ofTime(func(t time.Time) int64 { return int64(t.YearDay()) }),
	"Unix":         ofTime(time.Time.Unix),
	"UnixMilli":    ofTime(time.Time.UnixMilli),
	"Hours":        ofDuration(time.Hour),
	"Minutes":      ofDuration(time.Minute),
	"Seconds":      ofDuration(time.Second),
	"Milliseconds": ofDuration(time.Millisecond),
	"Format": {timeKind, stringKind, []kinds{stringKind}, func(t any, args []any) (any, error) {
		return t.(time.Time).Format(args[0].(string)), nil
	}},
	"Truncate": {timeKind, timeKind, []kinds{durationKind}, func(t any, args []any) (any, error) {
		return t.(time.Time).Truncate(args[0].(time.Duration)), nil
	}},
}

func ofTime(f func(time.Time) int64) method {
	return method{timeKind, intKind, nil, func(t any, _ []any) (any, error) { return f(t.(time.Time)), nil }}
}

// ofDuration gives a duration in a unit, exactly where that is an integer.
func ofDuration(unit time.Duration) method {
	return method{durationKind, numberKind, nil, func(d any, _ []any) (any, error) {
		return divInts(int64(d.(time.Duration)), int64(unit))
	}}
}
