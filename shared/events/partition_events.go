package events

import (
	"github.com/heddle-run/heddle/shared/wire"
)

// InputRejected is an input that could not be decoded; its bytes went to the dlq.
type InputRejected struct {
	Reason string
	Path   string
}

func (*InputRejected) number() int { return 64 }

// Fields implements wire.Message.
func (e *InputRejected) Fields(c *wire.Codec) {
	wire.String(c, 1, "reason", &e.Reason)
	wire.String(c, 2, "path", &e.Path)
}

// InputForwarded is an input whose key belongs to another partition.
type InputForwarded struct {
	Partition uint32
}

func (*InputForwarded) number() int { return 65 }

// Fields implements wire.Message.
func (e *InputForwarded) Fields(c *wire.Codec) {
	wire.Int(c, 1, "partition", &e.Partition)
}

// InputLogTruncated says that an input log lost records that were read: reading
// goes on at Resume, under a new generation.
type InputLogTruncated struct {
	Log        Source
	Generation uint32
	Expected   int64
	Resume     int64
	Reason     string
}

func (*InputLogTruncated) number() int { return 66 }

// Fields implements wire.Message.
func (e *InputLogTruncated) Fields(c *wire.Codec) {
	wire.Int(c, 1, "log", &e.Log)
	wire.Int(c, 2, "generation", &e.Generation)
	wire.Int(c, 3, "expected", &e.Expected)
	wire.Int(c, 4, "resume", &e.Resume)
	wire.String(c, 5, "reason", &e.Reason)
}

// InputLost says that records of an input log were never read and are gone, and who
// has accepted that.
type InputLost struct {
	Log        Source
	Generation uint32
	From       int64
	To         int64
	Reason     string
	By         By
}

func (*InputLost) number() int { return 67 }

// Fields implements wire.Message.
func (e *InputLost) Fields(c *wire.Codec) {
	wire.Int(c, 1, "log", &e.Log)
	wire.Int(c, 2, "generation", &e.Generation)
	wire.Int(c, 3, "from", &e.From)
	wire.Int(c, 4, "to", &e.To)
	wire.String(c, 5, "reason", &e.Reason)
	wire.Nested(c, 6, "by", &e.By)
}

// JournalLost says that the journal lacked what the state rests on, and who has accepted
// that. It begins an epoch: the state goes on from the last checkpoint that stood
// before it, and nothing that the journal has from there up to this record counts.
type JournalLost struct {
	From     int64 // offset behind the checkpoint; of a journal that was made anew 0
	To       int64 // offset up to which the journal was known to reach
	Commands int64 // offset: commands below may have been decided in what is lost
	Reason   string
	By       By
}

func (*JournalLost) number() int { return 75 }

// Fields implements wire.Message.
func (e *JournalLost) Fields(c *wire.Codec) {
	wire.Int(c, 1, "from", &e.From)
	wire.Int(c, 2, "to", &e.To)
	wire.Int(c, 3, "commands", &e.Commands)
	wire.String(c, 4, "reason", &e.Reason)
	wire.Nested(c, 5, "by", &e.By)
}

// QuarantineEnded says that every workflow that an accepted loss of a log may concern is
// quarantined.
type QuarantineEnded struct {
	Log       Source // engine: the journal
	Workflows uint64 // how many were quarantined
}

func (*QuarantineEnded) number() int { return 74 }

// Fields implements wire.Message.
func (e *QuarantineEnded) Fields(c *wire.Codec) {
	wire.Int(c, 1, "log", &e.Log)
	wire.Int(c, 2, "workflows", &e.Workflows)
}

// EffectFailed is an effect that the broker refused for good.
type EffectFailed struct {
	Kind   string
	Epoch  uint64
	Seq    uint64
	Number uint64
	Reason string
}

func (*EffectFailed) number() int { return 68 }

// Fields implements wire.Message.
func (e *EffectFailed) Fields(c *wire.Codec) {
	wire.String(c, 1, "kind", &e.Kind)
	wire.Int(c, 2, "epoch", &e.Epoch)
	wire.Int(c, 3, "seq", &e.Seq)
	wire.Int(c, 4, "number", &e.Number)
	wire.String(c, 5, "reason", &e.Reason)
}

// AuthorityMarkedStale says that the lease's owner is not trusted any more.
type AuthorityMarkedStale struct {
	Reason string
	By     By
}

func (*AuthorityMarkedStale) number() int { return 69 }

// Fields implements wire.Message.
func (e *AuthorityMarkedStale) Fields(c *wire.Codec) {
	wire.String(c, 1, "reason", &e.Reason)
	wire.Nested(c, 2, "by", &e.By)
}

// AuthorityReleased clears the lease.
type AuthorityReleased struct {
	By By
}

func (*AuthorityReleased) number() int { return 70 }

// Fields implements wire.Message.
func (e *AuthorityReleased) Fields(c *wire.Codec) {
	wire.Nested(c, 1, "by", &e.By)
}

// AuthorityAcquired gives the partition to an owner, under the epoch of its record.
type AuthorityAcquired struct {
	Owner       string
	LeaseID     string
	LeasedUntil int64 // Unix ms
	ClusterID   string
	CommandsID  []byte // topic ids of the input logs that the owner reads
	InboxID     []byte
}

func (*AuthorityAcquired) number() int { return 71 }

// Fields implements wire.Message.
func (e *AuthorityAcquired) Fields(c *wire.Codec) {
	wire.String(c, 1, "owner", &e.Owner)
	wire.String(c, 2, "lease_id", &e.LeaseID)
	wire.Int(c, 3, "leased_until", &e.LeasedUntil)
	wire.String(c, 4, "cluster_id", &e.ClusterID)
	c.Bytes(5, "commands_id", &e.CommandsID)
	c.Bytes(6, "inbox_id", &e.InboxID)
}

// ReplayRequested rewinds the reading of an input log; the ledger makes it harmless.
type ReplayRequested struct {
	Cursor string
	By     By
}

func (*ReplayRequested) number() int { return 73 }

// Fields implements wire.Message.
func (e *ReplayRequested) Fields(c *wire.Codec) {
	wire.String(c, 1, "cursor", &e.Cursor)
	wire.Nested(c, 2, "by", &e.By)
}

// DispatchesRemoved says that an operator has removed dispatch records. Their request ids stay used.
type DispatchesRemoved struct {
	IDs []string // sorted
	By  By
}

func (*DispatchesRemoved) number() int { return 77 }

// Fields implements wire.Message.
func (e *DispatchesRemoved) Fields(c *wire.Codec) {
	c.Strings(1, "ids", &e.IDs)
	wire.Nested(c, 2, "by", &e.By)
}

// DeliveryConfirmedLate says that a worker has an attempt whose delivery had failed before: it stays failed, for
// another reason.
type DeliveryConfirmedLate struct {
	ID     string // of the request
	Reason string
}

func (*DeliveryConfirmedLate) number() int { return 78 }

// Fields implements wire.Message.
func (e *DeliveryConfirmedLate) Fields(c *wire.Codec) {
	wire.String(c, 1, "id", &e.ID)
	wire.String(c, 2, "reason", &e.Reason)
}
