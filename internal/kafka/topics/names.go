package topics

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/policy"
)

// DefaultPrefix separates one deployment's topics, groups and transactional
// ids from another's on the same cluster.
const DefaultPrefix = "heddle."

// DefaultQueue is the task queue that always exists.
const DefaultQueue = events.DefaultQueue

// The base names of topics.yaml. No other package spells them.
const (
	commands       = "commands"
	inbox          = "inbox"
	journal        = "journal"
	state          = "state"
	tasksTemplate  = "tasks.QUEUE"
	taskControl    = "task-control"
	status         = "status"
	definitions    = "definitions"
	queries        = "queries"
	replies        = "replies"
	runnerCommands = "runner-commands"
	tunnels        = "tunnels"
	authority      = "authority"
	readiness      = "readiness"
	dlq            = "dlq"

	plannerGroup       = "planner"
	archiverGroup      = "archiver"
	queueGroupTemplate = "queue.QUEUE"
	queuePlaceholder   = "QUEUE"
)

var baseNames = []string{
	commands, inbox, journal, state, tasksTemplate, taskControl, status, definitions,
	queries, replies, runnerCommands, tunnels, authority, readiness, dlq,
}

var groupNames = []string{plannerGroup, archiverGroup, queueGroupTemplate}

var (
	prefixPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// Names are the names of one deployment's topics, groups and transactional
// ids. The zero value is unusable; make one with NewNames.
type Names struct {
	prefix string

	// of the topics that every step produces to
	journal, inbox, status, replies string
}

// NewNames checks the prefix (letters, digits, dots, dashes, underscores; at
// most 64) and returns the names under it. An empty prefix means DefaultPrefix.
func NewNames(prefix string) (Names, error) {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if !prefixPattern.MatchString(prefix) {
		return Names{}, fmt.Errorf("topic prefix %q: want 1 to 64 of A-Za-z0-9._-, beginning with a letter or digit", prefix)
	}
	return Names{
		prefix: prefix, journal: prefix + journal, inbox: prefix + inbox, status: prefix + status, replies: prefix + replies,
	}, nil
}

// Prefix is what every name of the deployment begins with.
func (n Names) Prefix() string { return n.prefix }

// Commands carries what clients and other systems ask.
func (n Names) Commands() string { return n.prefix + commands }

// Inbox carries what executors and entities report to planners.
func (n Names) Inbox() string { return n.inbox }

// Journal carries every accepted decision: the truth.
func (n Names) Journal() string { return n.journal }

// State is the changelog of planner stores.
func (n Names) State() string { return n.prefix + state }

// Tasks carries the attempts to run of one queue.
func (n Names) Tasks(queue string) string { return n.prefix + "tasks." + queue }

// TaskControl carries cancellations of running attempts.
func (n Names) TaskControl() string { return n.prefix + taskControl }

// Status carries one summary per workflow.
func (n Names) Status() string { return n.status }

// Definitions carries the registered workflow definitions.
func (n Names) Definitions() string { return n.prefix + definitions }

// Queries carries the questions of consistent reads.
func (n Names) Queries() string { return n.prefix + queries }

// Replies carries their answers.
func (n Names) Replies() string { return n.replies }

// RunnerCommands carries commands to remote runners.
func (n Names) RunnerCommands() string { return n.prefix + runnerCommands }

// Tunnels carries messages between clients of gateways and attempts at runners.
func (n Names) Tunnels() string { return n.prefix + tunnels }

// Authority carries the leases of planner partitions; its partition p belongs
// to planner partition p.
func (n Names) Authority() string { return n.prefix + authority }

// Readiness carries derived readiness snapshots.
func (n Names) Readiness() string { return n.prefix + readiness }

// DLQ carries what could not be decoded or was refused for good.
func (n Names) DLQ() string { return n.prefix + dlq }

// Queue is the queue of a tasks topic; false for any other topic.
func (n Names) Queue(topic string) (string, bool) {
	queue, ok := strings.CutPrefix(topic, n.prefix+"tasks.")
	return queue, ok && policy.CheckQueue(queue) == nil
}

// PlannerGroup is the consumer group of planners; its committed offsets are
// the durable cursors of checkpoints.
func (n Names) PlannerGroup() string { return n.prefix + plannerGroup }

// ArchiverGroup is the consumer group of archivers: what it has committed of the journal is kept outside Kafka.
func (n Names) ArchiverGroup() string { return n.prefix + archiverGroup }

// QueueGroup is the consumer group of the workers of one queue.
func (n Names) QueueGroup(queue string) string { return n.prefix + "queue." + queue }

// PlannerTxn is the transactional id PREFIX-planner-p, with the prefix's
// closing dot left out.
func (n Names) PlannerTxn(partition int32) string {
	return strings.TrimSuffix(n.prefix, ".") + "-planner-" + strconv.Itoa(int(partition))
}

// base is the name in topics.yaml of one of the deployment's topics.
func (n Names) base(topic string) string {
	if _, ok := n.Queue(topic); ok {
		return tasksTemplate
	}
	return strings.TrimPrefix(topic, n.prefix)
}
