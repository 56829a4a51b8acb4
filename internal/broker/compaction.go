package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keepDir holds hard links to the segments that a compaction replaces, in
// directories named like the partitions; it is complete from its appearance
// under this name until its removal.
const (
	keepDir     = "compacting"
	keepDirTemp = "compacting.tmp"
)

// kept is what keepSegments made; the zero value (a broker in memory) keeps
// nothing.
type kept struct{ dir string }

// keepSegments links every file of the topics' partitions into keepDir.
func keepSegments(dir string, topics []string) (kept, error) {
	if dir == "" {
		return kept{}, nil
	}
	temp := filepath.Join(dir, keepDirTemp)
	if err := os.RemoveAll(temp); err != nil {
		return kept{}, err
	}
	if err := os.Mkdir(temp, 0o755); err != nil {
		return kept{}, err
	}
	err := eachPartition(dir, func(partition string, _ []string) error {
		if !slices.Contains(topics, topicOf(partition)) {
			return nil
		}
		return linkFiles(partition, filepath.Join(temp, filepath.Base(partition)))
	})
	if err != nil {
		return kept{}, err
	}
	final := filepath.Join(dir, keepDir)
	return kept{final}, os.Rename(temp, final)
}

func (k kept) drop() error {
	if k.dir == "" {
		return nil
	}
	// Renamed first: a removal that a crash cuts short must not look complete.
	temp := filepath.Join(filepath.Dir(k.dir), keepDirTemp)
	if err := os.Rename(k.dir, temp); err != nil {
		return err
	}
	return os.RemoveAll(temp)
}

// undoCompaction puts back what a compaction that did not end was replacing.
func undoCompaction(dir string, log *slog.Logger) error {
	if err := os.RemoveAll(filepath.Join(dir, keepDirTemp)); err != nil {
		return err
	}
	from := filepath.Join(dir, keepDir)
	parts, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	log.Warn("broker: undoing a compaction that a crash cut short", "partitions", len(parts))
	for _, p := range parts {
		target := filepath.Join(dir, partitionsDir, p.Name())
		if err := os.RemoveAll(target); err != nil {
			return fmt.Errorf("undo a compaction: %w", err)
		}
		// Linked, not moved: a second crash must find keepDir complete.
		if err := linkFiles(filepath.Join(from, p.Name()), target); err != nil {
			return fmt.Errorf("undo a compaction: %w", err)
		}
	}
	return kept{from}.drop()
}

func linkFiles(from, to string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Link(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// topicOf is the topic of a partition directory TOPIC-P, where kfake escapes
// the topic for the file system.
func topicOf(partition string) string {
	name := filepath.Base(partition)
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return ""
	}
	topic, err := url.PathUnescape(name[:i])
	if err != nil {
		return ""
	}
	return topic
}
