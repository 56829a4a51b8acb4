package view

import "testing"

// A count that would look at too many workflows is cut short, and says so.
func TestUsesAreCountedUpToALimit(t *testing.T) {
	v := openTestView(t, "")
	defer closeTestView(t, v)
	takeAll(t, v, statusRecords(t, 5, "1.2"))
	for most, cut := range map[int]bool{4: true, 5: false} {
		u, err := v.Uses(most)
		n := uint64(0)
		for _, open := range u.Open {
			n += open
		}
		if err != nil || u.Cut != cut || n != uint64(most) {
			t.Errorf("at most %d: %d, cut %v, %v", most, n, u.Cut, err)
		}
	}
}
