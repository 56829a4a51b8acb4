package events_test

import (
	"fmt"
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

func TestNamesOfShards(t *testing.T) {
	for name, fine := range map[string]bool{
		"images": true, "images/1": true, "images/32": true, "images/33": false, "images/0": false, "images/": false, "images/01": false,
		"images/+1": false, "images/1/1": false, "/1": false, "a b/1": false, "": false,
	} {
		if err := events.CheckShardName(name); (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
		if got, err := events.ParsePoolID("pool:" + name); (err == nil) != fine || fine && got != name {
			t.Errorf("pool:%s: %q, %v", name, got, err)
		}
	}
	for _, c := range []struct {
		name   string
		shards int
		is     bool
	}{
		{"images", 0, true}, {"images", 1, true}, {"images", 2, false}, {"images/1", 1, false}, {"images/2", 2, true}, {"images/3", 2, false}, {"other/1", 2, false},
	} {
		if got := events.IsShard(c.name, "images", c.shards); got != c.is {
			t.Errorf("%+v: %t", c, got)
		}
	}
	for id, want := range map[string]string{
		"images.1.8": "images", "images/3.1.8": "images/3", "images/3.1": "", "images": "", "": "", "other.1.8": "", "images/x.1.8": "", ".1.8": "",
	} {
		if got := events.ShardOfRunner("images", id); got != want {
			t.Errorf("%q is of %q, want %q", id, got, want)
		}
	}
	if got := events.ShardOfRunner("a.b", "a.b/3.1.8"); got != "a.b/3" {
		t.Errorf("a name with a dot: %q", got)
	}
	for _, pool := range []string{"pool:images", "pool:images/3"} {
		if got, n, err := events.ParseRunnerCursor(events.RunnerCursor(pool, 17)); got != pool || n != 17 || err != nil {
			t.Errorf("%s: %s, %d, %v", pool, got, n, err)
		}
	}
}

// What is spread over shards is spread evenly, and always in the same way.
func TestShardsAreEven(t *testing.T) {
	for _, shards := range []int{2, 3, 4, 8, 32} {
		count := map[string]int{}
		for n := range 1000 * shards {
			of := fmt.Sprint("host-", n)
			name := events.ShardFor("images", shards, of)
			if !events.IsShard(name, "images", shards) || events.ShardFor("images", shards, of) != name {
				t.Fatalf("%s is in %s of %d", of, name, shards)
			}
			count[name]++
		}
		for name, n := range count {
			if n < 850 || n > 1150 || len(count) != shards {
				t.Errorf("of %d shards %s has %d, and each is to have 1000", shards, name, n)
			}
		}
	}
}
