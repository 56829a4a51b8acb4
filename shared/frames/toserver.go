package frames

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// ToServer is a frame of a runner: a closed set.
type ToServer interface {
	wire.Message
	toServer() int
}

var toServer = set[ToServer]{
	{1, "ToServerInit", func() ToServer { return &ToServerInit{} }},
	{2, "ToServerEvents", func() ToServer { return &ToServerEvents{} }},
	{3, "ToServerAckCommands", func() ToServer { return &ToServerAckCommands{} }},
	{4, "ToServerPing", func() ToServer { return &ToServerPing{} }},
	{5, "ToServerKvRequest", func() ToServer { return &ToServerKvRequest{} }},
	{6, "ToServerStopping", func() ToServer { return &ToServerStopping{} }},
	{7, "ToServerTunnel", func() ToServer { return &ToServerTunnel{} }},
}

// ToServerInit is the first frame of a socket, and the only one of its kind that counts.
type ToServerInit struct {
	Name           string // for people
	Version        uint32 // of the runner's program; the highest gets work first
	TotalSlots     uint32 // from 1; fixed for the life of a runner id, as Version is
	LastCommandIdx *int64 // of the last command that was received; nil: none, or it is not remembered

	// Instance is a random text that the runner's process has chosen; empty: none. Another one
	// under the same key is another process, which runs none of what was started before.
	Instance string

	// RunnerID is what the server called the runner the last time; empty: it has not, or it is not remembered. It leads to the
	// session, wherever that is by then.
	RunnerID string

	PrepopulateTaskNames []wire.Pair     // tasks that the runner knows, with metadata for people
	Metadata             json.RawMessage // for people
}

// ToServerEvents are events of the runner, ascending by index.
type ToServerEvents struct{ Events []Event }

// ToServerAckCommands says that commands have been received.
type ToServerAckCommands struct {
	LastCommandIdx int64 // the highest; all before it are received too
}

// ToServerPing keeps the socket: it is answered by ToClientPong.
type ToServerPing struct {
	Ts int64 // the runner's clock, Unix ms
}

// ToServerStopping says that the runner takes no more and closes the socket once its attempts have ended.
type ToServerStopping struct{}

// ToServerTunnel is one message of a tunnel.
type ToServerTunnel struct{ Tunnel }

func (*ToServerInit) toServer() int        { return 1 }
func (*ToServerEvents) toServer() int      { return 2 }
func (*ToServerAckCommands) toServer() int { return 3 }
func (*ToServerPing) toServer() int        { return 4 }
func (*ToServerKvRequest) toServer() int   { return 5 }
func (*ToServerStopping) toServer() int    { return 6 }
func (*ToServerTunnel) toServer() int      { return 7 }

// Fields implements wire.Message.
func (f *ToServerInit) Fields(c *wire.Codec) {
	wire.String(c, 1, "name", &f.Name)
	wire.Index(c, 2, "version", &f.Version)
	wire.Int(c, 3, "totalSlots", &f.TotalSlots)
	wire.Maybe(c, 4, "lastCommandIdx", &f.LastCommandIdx)
	wire.String(c, 5, "instance", &f.Instance)
	c.Pairs(6, "prepopulateTaskNames", &f.PrepopulateTaskNames)
	c.JSON(7, "metadata", &f.Metadata)
	wire.String(c, 8, "runnerId", &f.RunnerID)
}

// Fields implements wire.Message.
func (f *ToServerEvents) Fields(c *wire.Codec) { wire.Repeated(c, 1, "events", &f.Events) }

// Fields implements wire.Message.
func (f *ToServerAckCommands) Fields(c *wire.Codec) {
	wire.Index(c, 1, "lastCommandIdx", &f.LastCommandIdx)
}

// Fields implements wire.Message.
func (f *ToServerPing) Fields(c *wire.Codec) { wire.Index(c, 1, "ts", &f.Ts) }

// Fields implements wire.Message.
func (*ToServerStopping) Fields(*wire.Codec) {}

func (f *ToServerInit) check() error {
	if f.TotalSlots < 1 || f.TotalSlots > MaxSlots {
		return fmt.Errorf("totalSlots is %d, want 1 to %d", f.TotalSlots, MaxSlots)
	}
	if f.LastCommandIdx != nil && *f.LastCommandIdx < -1 {
		return fmt.Errorf("lastCommandIdx is %d", *f.LastCommandIdx)
	}
	if len(f.Instance) > MaxName || len(f.RunnerID) > MaxName || len(f.Metadata) > MaxMetadata {
		return fmt.Errorf("instance has %d bytes, runnerId %d, metadata %d; at most are allowed %d, %d and %d",
			len(f.Instance), len(f.RunnerID), len(f.Metadata), MaxName, MaxName, MaxMetadata)
	}
	if n := len(f.PrepopulateTaskNames); n > MaxTaskNames {
		return fmt.Errorf("%d names of tasks, at most are allowed %d", n, MaxTaskNames)
	}
	size := 0
	for _, p := range f.PrepopulateTaskNames {
		size += len(p.Value)
		if err := cmp.Or(bounded("the name of a task", p.Key, MaxName), isJSON("the metadata of a task", p.Value)); err != nil {
			return err
		}
	}
	if size > MaxMetadata {
		return fmt.Errorf("the metadata of all tasks have %d bytes, at most are allowed %d", size, MaxMetadata)
	}
	return cmp.Or(bounded("name", f.Name, MaxName), isJSON("metadata", f.Metadata))
}

func (f *ToServerEvents) check() error {
	for i, e := range f.Events {
		if err := e.check(); err != nil {
			return err
		}
		if i > 0 && e.Index <= f.Events[i-1].Index {
			return fmt.Errorf("event %d stands behind event %d", e.Index, f.Events[i-1].Index)
		}
	}
	return nil
}

func (f *ToServerAckCommands) check() error { return index(f.LastCommandIdx) }

func index(i int64) error {
	if i < 0 {
		return fmt.Errorf("the index %d is none", i)
	}
	return nil
}
