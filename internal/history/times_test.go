package history

import (
	"reflect"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// TestEveryTimeOfAnEventIsShownAsOne asks of each 64 bit number of an event whether it is a time.
func TestEveryTimeOfAnEventIsShownAsOne(t *testing.T) {
	numbers := map[string]bool{"Commands": true, "Expected": true, "From": true, "Resume": true, "To": true}
	for _, n := range events.Numbers() {
		e, _ := events.New(n)
		of := reflect.TypeOf(e).Elem()
		for i := range of.NumField() {
			name := of.Field(i).Name
			if of.Field(i).Type.Kind() == reflect.Int64 && timeFields[name] == (numbers[name] || spanFields[name]) {
				t.Errorf("%s.%s is a time or a span, which timeFields or spanFields must say, or a number, which this test must know", of.Name(), name)
			}
		}
	}
}
