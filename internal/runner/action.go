package runner

import (
	"errors"

	"github.com/heddle-run/heddle/shared/frames"
)

// Action is what is to be done: a closed set.
type Action interface{ action() }

// Dial opens a socket: Opened or Broken follows. There is no other one.
type Dial struct{}

// Send writes a frame to the socket.
type Send struct{ Frame frames.ToServer }

// Hangup closes the socket, or gives up to open it. Nothing is to be heard of it any more.
type Hangup struct{ Close frames.Close }

// Start begins an attempt: Ended follows, once.
type Start struct{ Task *frames.StartTask }

// Halt ends the context of an attempt that was started.
type Halt struct {
	Token  string
	Reason frames.StopReason
}

// Leave tells an attempt that was started that its runner is going away: it may end early, and is halted later.
type Leave struct{ Token string }

// Answer is the end of a request for keys.
type Answer struct {
	Request  uint64
	Response *frames.ToClientKvResponse // nil: Err says why there is none
	Err      error
}

// Serve hands a message of a client's request to the attempt; Took follows, once it is taken. The first one of a request begins it.
type Serve struct {
	Request string
	Token   string // of the attempt
	Message frames.TunnelMessage
}

// Room says that there may be room again for messages of an answer.
type Room struct{ Request string }

// Gone says that a request is over before its end.
type Gone struct{ Request, Reason string }

// Connected says that the runner has its id and gets work.
type Connected struct {
	RunnerID string
	Again    bool // it is the id of the connection before
}

// Disconnected says that the socket of a Connected is gone; Over or another Connected follows.
type Disconnected struct{ Close frames.Close }

// Warn is something that people should know.
type Warn struct {
	Text  string
	Count int64
}

// Over is the last action: the runner has stopped.
type Over struct{ Err error } // nil: as it was asked to

func (Dial) action()         {}
func (Send) action()         {}
func (Hangup) action()       {}
func (Start) action()        {}
func (Halt) action()         {}
func (Leave) action()        {}
func (Answer) action()       {}
func (Serve) action()        {}
func (Room) action()         {}
func (Gone) action()         {}
func (Connected) action()    {}
func (Disconnected) action() {}
func (Warn) action()         {}
func (Over) action()         {}

// Why a request for keys has no response.
var (
	ErrKvTimeout = errors.New("the request for keys took too long")
	ErrKvUnknown = errors.New("the socket broke after the request for keys was sent: whether it was done is unknown")
	ErrOver      = errors.New("the runner has stopped")
)

// Why a runner is over.
var (
	ErrEvicted = errors.New("the server has closed the runner for good: another process has its key, or an operator has stopped it")
	ErrURL     = errors.New("the server takes no runner at this URL: a parameter is missing or wrong, or the server speaks another version of the protocol")
)

// Reasons of Halt that no StopTask has.
const (
	StopReplaced frames.StopReason = "replaced" // the server has given the runner another id
	StopShutdown frames.StopReason = "shutdown" // the runner is over
)
