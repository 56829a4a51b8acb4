package loop

import (
	"fmt"
	"testing"
)

func TestANameThatWasMetIsNeverFresh(t *testing.T) {
	n := names{stored: &Bloom{}}
	wrong := 0
	for i := range 50_000 {
		if !n.fresh(fmt.Sprint("new", i)) {
			wrong++
		}
		n.note(fmt.Sprint("met", i))
		if n.fresh(fmt.Sprint("met", i)) || n.fresh(fmt.Sprint("met", i/2)) {
			t.Fatalf("met%d is called fresh", i)
		}
	}
	if wrong > 50_000/20 {
		t.Errorf("%d of 50,000 new names were not recognised", wrong)
	}
}

func TestTooManyNamesAreGivenUp(t *testing.T) {
	b := Bloom{}
	for i := uint64(0); !b.full; i++ {
		b.add(i * 0x9e3779b97f4a7c15)
		if i > 20_000_000 {
			t.Fatal("it grows without end")
		}
	}
	n := names{stored: &b}
	if len(b.layers) != 0 || n.fresh("x") {
		t.Error("what was given up still answers")
	}
}

func TestNothingIsFreshBeforeTheStoreIsKnown(t *testing.T) {
	var n names
	if n.fresh("x") {
		t.Error("a name is fresh though the store was not read")
	}
}
