package sim

import (
	"strings"

	"github.com/heddle-run/heddle/internal/kafka"
)

// Subject is what a line or a failure is about, as far as it is known: a
// workflow, its partition, a planner.
type Subject struct {
	Workflow  string
	Partition string // p0, p1, …
	Planner   string // by slot: n0, n1, …
}

// workflow is a workflow, or the partition whose own name it is.
func (w *world) workflow(id string) Subject {
	if p, ok := partitionOf(id); ok {
		return ofPartition(p)
	}
	return Subject{Workflow: id, Partition: partitionName(kafka.PartitionFor([]byte(id), w.plan.Partitions))}
}

func ofPartition(p int32) Subject { return Subject{Partition: partitionName(p)} }

func (n *node) about() Subject { return Subject{Planner: slotName(n.slot)} }

func (n *node) aboutPartition(p int32) Subject {
	return Subject{Planner: slotName(n.slot), Partition: partitionName(p)}
}

// aboutMove is what a move is about: its stream's name says whose it is and for
// which partition.
func (w *world) aboutMove(m move) Subject {
	if m.workflow != "" {
		return w.workflow(m.workflow)
	}
	var s Subject
	if m.stream == nil {
		return s
	}
	if m.stream.owner != nil {
		s = m.stream.owner.about()
		if parts := strings.SplitN(m.stream.name, "/", 3); len(parts) == 3 && parts[1] != "host" {
			s.Partition = parts[1]
		}
	}
	if id, ok := strings.CutPrefix(m.stream.name, "user/user-"); ok {
		id, _, _ = strings.Cut(id, "/")
		return w.workflow(id)
	}
	return s
}

// Concerning are the lines that concern a subject: what its workflow did, who
// owned its partition, and what befell the planners that did. Without a subject
// they are all but noise.
func Concerning(about Subject, history []Line) []Line {
	owners := map[string]bool{}
	for _, line := range history {
		if line.About.Partition == about.Partition {
			owners[line.About.Planner] = true
		}
	}
	var some []Line
	for _, line := range history {
		if !line.Noise && (about == Subject{} || about.concerns(line.About, owners)) {
			some = append(some, line)
		}
	}
	return some
}

func (s Subject) concerns(line Subject, owners map[string]bool) bool {
	switch {
	case line == Subject{}:
		return true
	case line.Workflow != "" && s.Workflow != "":
		return line.Workflow == s.Workflow
	case line.Partition != "":
		return line.Partition == s.Partition
	}
	return owners[line.Planner]
}

// String says what it is, for people.
func (s Subject) String() string {
	var all []string
	if s.Workflow != "" {
		all = append(all, "workflow "+s.Workflow)
	}
	if s.Partition != "" {
		all = append(all, "partition "+s.Partition)
	}
	if s.Planner != "" {
		all = append(all, "planner "+s.Planner)
	}
	return strings.Join(all, ", ")
}
