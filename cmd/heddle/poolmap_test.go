package main

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/services/planner/pool"
)

func TestPoolsOfAFlagAndOfASettingsFile(t *testing.T) {
	flag := poolMap{}
	for _, text := range []string{"images=thumbs,video=thumbs", "mail=post"} {
		if err := flag.add(text); err != nil {
			t.Fatal(err)
		}
	}
	if want := (poolMap{"thumbs": {Queues: []string{"images", "video"}}, "post": {Queues: []string{"mail"}}}); !reflect.DeepEqual(flag, want) {
		t.Errorf("the flag is %+v", flag)
	}
	values, err := settingsIn([]byte("pools:\n  thumbs: {queues: [images, video], older: overflow, upgrade: drain, shards: 4}\n  post: {queues: [mail], older: wait, upgrade: keep}\n  spare: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	file := poolMap{}
	if err := file.load(values["pools"]); err != nil {
		t.Fatal(err)
	}
	want := poolMap{"thumbs": {Queues: []string{"images", "video"}, Overflow: true, Upgrade: true, Shards: 4}, "post": {Queues: []string{"mail"}}, "spare": pool.Options{}}
	if !reflect.DeepEqual(file, want) {
		t.Errorf("the file is %+v", file)
	}
}

func TestWrongPoolsSayWhatIsWrong(t *testing.T) {
	for _, text := range []string{"images", "=thumbs", "images=", ""} {
		if err := (&poolMap{}).add(text); err == nil || !strings.Contains(err.Error(), "QUEUE=POOL") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for source, want := range map[string]string{
		"[images]":                  "mapping of pools",
		"{thumbs: images}":          "pools.thumbs: must be a mapping with queues",
		"{thumbs: {queue: [a]}}":    "queue",
		"{thumbs: {older: never}}":  `pools.thumbs.older: "never": want wait or overflow`,
		"{thumbs: {upgrade: yes}}":  `want keep or drain`,
		"{thumbs: {shards: many}}":  "many",
		"{thumbs: {shards: -1}}":    "want 1 to 32",
		"{thumbs: {shards: 33}}":    "pool thumbs: it has 33 shards, want 1 to 32",
		"{thumbs: {queues: [[a]]}}": "pools.thumbs.queues: must be texts",
	} {
		values, err := settingsIn([]byte("pools: " + source))
		if err != nil {
			t.Fatal(err)
		}
		said := poolMap{}
		if err := cmp.Or(said.load(values["pools"]), pool.Settings{Pools: said}.Check()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", source, err, want)
		}
	}
}
