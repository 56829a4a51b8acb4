package main

import (
	"os"
	"time"
)

// pollFiles is how often files are looked at: a person saves less often.
const pollFiles = 300 * time.Millisecond

// watcher notices files that were saved.
type watcher struct {
	files []string
	seen  map[string]stamp
}

// stamp tells two contents of a file apart; the zero one is that of no file.
type stamp struct {
	at   time.Time
	size int64
}

func newWatcher(files []string) *watcher { return &watcher{files: files, seen: map[string]stamp{}} }

// changed are the files that are not as they were at the last call; all of them
// at the first. A file that is gone is none: an editor puts it back in a moment.
func (w *watcher) changed() []string {
	var list []string
	for _, file := range w.files {
		last, known := w.seen[file]
		now, ok := stampOf(file)
		if known && (!ok || now == last) {
			continue
		}
		w.seen[file] = now
		list = append(list, file)
	}
	return list
}

func stampOf(file string) (stamp, bool) {
	info, err := os.Stat(file)
	if err != nil {
		return stamp{}, false
	}
	return stamp{info.ModTime(), info.Size()}, true
}
