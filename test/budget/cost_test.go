package budget

import (
	"slices"
	"testing"
)

func TestAFigureOverItsBudgetIsNamed(t *testing.T) {
	budget := Cost{Allocations: 200, Produces: 2, Disk: 10000}
	for _, test := range []struct {
		name string
		is   Cost
		want []string
	}{
		{"all within", Cost{Allocations: 200, Produces: 2, Disk: 10000}, nil},
		{"less", Cost{Allocations: 100, Produces: 1, Disk: 10}, nil},
		{"over within the tolerance", Cost{Allocations: 205.9, Produces: 2.15, Disk: 10290}, nil},
		{"one over", Cost{Allocations: 206.1, Produces: 2, Disk: 10000}, []string{"allocations per step: 206.1, 3.0 % over the budget of 200"}},
		{"two over", Cost{Produces: 3, Disk: 12500}, []string{
			"produce requests per step: 3, 50.0 % over the budget of 2",
			"bytes on disk per workflow: 12500, 25.0 % over the budget of 10000",
		}},
		{"without a budget", Cost{Rows: 0.5}, []string{"rows written to Pebble per step: 0.5, and it has no budget"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if over := test.is.Excess(budget); !slices.Equal(over, test.want) {
				t.Errorf("over the budget are %q, want %q", over, test.want)
			}
		})
	}
}

func TestACostIsPerStepAndItsDiskPerWorkflow(t *testing.T) {
	before := Cost{Records: 100, Disk: 1000}
	after := Cost{Records: 500, Disk: 5000}
	is := after.minus(before).per(40, 4)
	if want := (Cost{Records: 10, Disk: 1000}); is != want {
		t.Errorf("the cost is\n%s\nwant\n%s", is, want)
	}
}

func TestTheMedianOfEachFigureIsTaken(t *testing.T) {
	is := median([]Cost{{Rows: 1, Fetches: 9}, {Rows: 3, Fetches: 7}, {Rows: 2, Fetches: 8}})
	if want := (Cost{Rows: 2, Fetches: 8}); is != want {
		t.Errorf("the median is\n%s\nwant\n%s", is, want)
	}
}

func TestFiguresAreRoundedToFourDigits(t *testing.T) {
	is := Cost{Allocations: 123456, Rows: 0.123456, Fetches: 1.00004}.rounded()
	if want := (Cost{Allocations: 123500, Rows: 0.1235, Fetches: 1}); is != want {
		t.Errorf("rounded it is\n%s\nwant\n%s", is, want)
	}
}
