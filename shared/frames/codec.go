package frames

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/heddle-run/heddle/shared/wire"
)

// Encoding is how the frames of a socket are written.
type Encoding uint8

// Encodings of frames.
const (
	JSON   Encoding = iota // text frames, JSON
	Binary                 // binary frames, Protocol Buffers
)

// ParseEncoding reads the value of QueryEncoding; empty is JSON.
func ParseEncoding(s string) (Encoding, error) {
	switch s {
	case "", "json":
		return JSON, nil
	case "binary":
		return Binary, nil
	}
	return 0, fmt.Errorf("%s is %.40q, want json or binary", QueryEncoding, s)
}

// String is the encoding as ParseEncoding reads it.
func (e Encoding) String() string {
	if e == Binary {
		return "binary"
	}
	return "json"
}

// FrameToServer is the message of a binary frame from a runner.
type FrameToServer struct{ Message ToServer }

// Fields implements wire.Message.
func (f *FrameToServer) Fields(c *wire.Codec) { toServer.fields(c, &f.Message, ToServer.toServer) }

// FrameToClient is the message of a binary frame to a runner.
type FrameToClient struct{ Message ToClient }

// Fields implements wire.Message.
func (f *FrameToClient) Fields(c *wire.Codec) { toClient.fields(c, &f.Message, ToClient.toClient) }

// EncodeToServer is the frame of m, which must be whole: what a list carries has its inner message,
// and user values are JSON.
func EncodeToServer(e Encoding, m ToServer) []byte { return encode(e, &FrameToServer{m}) }

// EncodeToClient is the frame of m, which must be whole, as for EncodeToServer.
func EncodeToClient(e Encoding, m ToClient) []byte { return encode(e, &FrameToClient{m}) }

func encode(e Encoding, m wire.Message) []byte {
	if e == Binary {
		return wire.Marshal(m)
	}
	return wire.ToJSON(m)
}

var errEmpty = errors.New("it has no message")

// DecodeToServer reads a runner's frame and checks it; KvRequest.Check is left to the caller. User
// values alias b.
func DecodeToServer(e Encoding, b []byte) (ToServer, error) {
	var f FrameToServer
	if err := decode(e, b, &f); err != nil {
		return nil, fmt.Errorf("decoding a runner's frame: %w", err)
	}
	if f.Message == nil {
		return nil, fmt.Errorf("decoding a runner's frame: %w", errEmpty)
	}
	if err := check(f.Message); err != nil {
		return nil, fmt.Errorf("a runner's %s: %w", toServer.name(f.Message.toServer()), err)
	}
	return f.Message, nil
}

// DecodeToClient reads a server's frame and checks it. User values alias b.
func DecodeToClient(e Encoding, b []byte) (ToClient, error) {
	var f FrameToClient
	if err := decode(e, b, &f); err != nil {
		return nil, fmt.Errorf("decoding a server's frame: %w", err)
	}
	if f.Message == nil {
		return nil, fmt.Errorf("decoding a server's frame: %w", errEmpty)
	}
	if err := check(f.Message); err != nil {
		return nil, fmt.Errorf("a server's %s: %w", toClient.name(f.Message.toClient()), err)
	}
	return f.Message, nil
}

func decode(e Encoding, b []byte, m wire.Message) error {
	if e == Binary {
		return wire.Unmarshal(b, m)
	}
	return wire.FromJSON(b, m)
}

// isJSON says whether user values, which bytes of Protocol Buffers may have as anything, are JSON or not there.
func isJSON(what string, values ...json.RawMessage) error {
	for _, v := range values {
		if len(v) > 0 && !json.Valid(v) {
			return fmt.Errorf("%s is no JSON", what)
		}
	}
	return nil
}
