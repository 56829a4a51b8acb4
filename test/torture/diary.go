package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// clock is how times are written, here and in the logs' headings.
const clock = "15:04:05.000"

// diary says what was done when, on the standard output and in a file.
type diary struct {
	began time.Time
	file  *os.File
}

func newDiary(dir string) (*diary, error) {
	f, err := os.Create(filepath.Join(dir, "diary.txt"))
	if err != nil {
		return nil, fmt.Errorf("making the diary: %w", err)
	}
	return &diary{began: time.Now(), file: f}, nil
}

// note writes a line with the time.
func (d *diary) note(format string, args ...any) {
	now := time.Now()
	line := fmt.Sprintf("%s %8.3fs  ", now.Format(clock), now.Sub(d.began).Seconds()) + fmt.Sprintf(format, args...)
	fmt.Println(line)
	fmt.Fprintln(d.file, line)
}
