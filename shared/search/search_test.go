package search_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heddle-run/heddle/shared/search"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestATextIsAFilter(t *testing.T) {
	for where, want := range map[string]search.Filter{
		"":                                {},
		"  status=failed\terror=timeout ": {Status: "failed", Error: "timeout"},
		`label.customer=acme component=charge q="card declined"`: {Labels: map[string]string{"customer": "acme"}, Component: "charge", Text: "card declined"},
		`label.a="say \"x\\y\"" label.empty=`:                    {Labels: map[string]string{"a": `say "x\y"`, "empty": ""}},
		`"label.cost centre=\""=x`:                               {Labels: map[string]string{`cost centre="`: "x"}},
		`definition=orders@2 q=a=b`:                              {Definition: "orders@2", Text: "a=b"},
		"created_after=2026-01-01T00:00:00+01:00":                {CreatedAfter: time.Date(2025, 12, 31, 23, 0, 0, 0, time.UTC)},
		"updated_before=24h created_before=7d":                   {UpdatedBefore: now.Add(-24 * time.Hour), CreatedBefore: now.Add(-7 * 24 * time.Hour)},
	} {
		got, err := search.ParseWhere(where, now)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", where, got, err, want)
		}
	}
}

// An error names the condition, and what to write instead.
func TestWhatIsNoFilterSaysWhy(t *testing.T) {
	for where, want := range map[string][2]string{
		"status=done":                         {"status", "none of running"},
		"status=faild":                        {"status", "did you mean failed?"},
		"status=":                             {"status", "is empty"},
		`q="  "`:                              {"q", "is empty"},
		"error=a error=b":                     {"error", "more than once"},
		"label.x=1 label.x=2":                 {"label.x", "more than once"},
		"label.=1":                            {"label.", "label.NAME=VALUE"},
		"stauts=failed":                       {"stauts", "did you mean status?"},
		"team=x":                              {"team", "label.NAME"},
		"failed":                              {"", `"failed" is not of the form name=value`},
		"q=card declined":                     {"", `"declined" is not of the form name=value; a text with blanks`},
		"=x":                                  {"", "name=value"},
		`q="card`:                             {"q", "no closing quote"},
		`q="card"declined`:                    {"q", "behind its closing quote"},
		`q=card"declined"`:                    {"q", "quote the whole value"},
		"created_after=yesterday":             {"created_after", "2026-01-02T03:04:05Z"},
		"created_after=-1h":                   {"created_after", "24h or 7d"},
		"created_before=0001-01-01T00:00:00Z": {"created_before", "neither a time"},
		"q=" + `"` + strings.Repeat("a ", 17) + `"`: {"q", "17 words"},
	} {
		_, err := search.ParseWhere(where, now)
		var is *search.Error
		if !errors.As(err, &is) || is.Name != want[0] || !strings.Contains(is.Message, want[1]) {
			t.Errorf("%s: %v; want %q of %q", where, err, want[1], want[0])
		}
	}
}

func TestAFailureFitsAsAWhole(t *testing.T) {
	w := &search.Workflow{ID: "Order-7", Name: "orders", Labels: map[string]string{"customer": "Acme", "n": "3"}, Failures: []search.Failure{
		{Component: "charge", Type: "declined", Message: "the card\nwas declined"}, {Component: "mail", Type: "timeout"},
	}}
	for where, want := range map[string]bool{
		"error=timeout component=mail": true, "error=timeout component=charge": false, "error=time": false,
		"q=\"CARD order ACME customer=ac\"": true, "q=\"card mailed\"": false, "label.n=3": true, "label.m=": false,
	} {
		f, err := search.ParseWhere(where, now)
		if err != nil {
			t.Fatal(err)
		}
		if f.Matcher().Fits(w) != want {
			t.Errorf("%s: fits is not %v", where, want)
		}
	}
}

// What is read is printed so that it is read as the same.
func FuzzParseWhere(f *testing.F) {
	for _, s := range []string{"", "status=failed", `q="a \"b\\ c" label.x= created_after=2h`, `label.ü="\"" definition=a@1`, "a=b", `q="`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, where string) {
		got, err := search.ParseWhere(where, now)
		if err != nil {
			var is *search.Error
			if !errors.As(err, &is) || is.Message == "" {
				t.Fatalf("%q: an error of another kind: %v", where, err)
			}
			return
		}
		again, err := search.ParseWhere(got.String(), now.Add(time.Hour))
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("%q is printed as %q, which is %+v, %v; want %+v", where, got.String(), again, err, got)
		}
		byTerms, err := search.New(got.Terms(), now)
		if err != nil || !reflect.DeepEqual(got, byTerms) {
			t.Errorf("%q has the terms %q, which are %+v, %v", where, got.Terms(), byTerms, err)
		}
	})
}

func FuzzParseCursor(f *testing.F) {
	f.Add("")
	f.Add(search.Behind(now, "w"))
	f.Fuzz(func(t *testing.T, cursor string) {
		place, err := search.ParseCursor(cursor)
		if err != nil || len(place) == 0 {
			return
		}
		if len(search.PlaceID(place)) == 0 {
			t.Errorf("%q is a cursor of no workflow", cursor)
		}
		again, err := search.ParseCursor(search.Cursor(place))
		if err != nil || string(again) != string(place) {
			t.Errorf("%q: %q again is %q, %v", cursor, place, again, err)
		}
	})
}
