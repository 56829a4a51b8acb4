package brokertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// bearerListener lets only those clients through to the broker behind it who have logged
// in by OAUTHBEARER, which kfake does not know: it speaks the two requests of a
// login itself, as Kafka does, and closes what asks for anything else before.
type bearerListener struct {
	net.Listener
	token string
}

// Accept implements net.Listener.
func (l bearerListener) Accept() (net.Conn, error) {
	client, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	go func() {
		defer client.Close()
		defer far.Close()
		if l.login(client, far) == nil {
			go func() {
				defer client.Close()
				_, _ = io.Copy(client, far) // it ends with either connection
			}()
			_, _ = io.Copy(far, client)
		}
	}()
	return near, nil
}

var errNoLogin = errors.New("not logged in")

// login answers until somebody has logged in.
func (l bearerListener) login(client, broker net.Conn) error {
	for {
		frame, err := readFrame(client)
		if err != nil {
			return err
		}
		reader := kbin.Reader{Src: frame[4:]}
		key, version, corr := reader.Int16(), reader.Int16(), reader.Int32()
		reader.NullableString()
		switch req := kmsg.RequestForKey(key).(type) {
		case *kmsg.ApiVersionsRequest:
			if _, err := broker.Write(frame); err != nil {
				return err
			}
			answer, err := readFrame(broker)
			if err == nil {
				_, err = client.Write(answer)
			}
			if err != nil {
				return err
			}
		case *kmsg.SASLHandshakeRequest:
			req.SetVersion(version)
			if err := req.ReadFrom(reader.Src); err != nil {
				return err
			}
			resp := req.ResponseKind().(*kmsg.SASLHandshakeResponse)
			resp.SupportedMechanisms = []string{"OAUTHBEARER"}
			if req.Mechanism != "OAUTHBEARER" {
				resp.ErrorCode = kerr.UnsupportedSaslMechanism.Code
			}
			if err := answer(client, corr, resp); err != nil {
				return err
			}
		case *kmsg.SASLAuthenticateRequest:
			req.SetVersion(version)
			if req.IsFlexible() {
				kmsg.SkipTags(&reader)
			}
			if err := req.ReadFrom(reader.Src); err != nil {
				return err
			}
			resp := req.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			known := bytes.Contains(req.SASLAuthBytes, []byte("auth=Bearer "+l.token+"\x01"))
			if !known {
				resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			}
			if err := answer(client, corr, resp); err != nil || known {
				return err
			}
		default:
			return errNoLogin
		}
	}
}

// readFrame reads a message with its length.
func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 4, 256)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(frame)
	if size < 10 || size > 1<<20 {
		return nil, errNoLogin
	}
	frame = append(frame, make([]byte, size)...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

func answer(w io.Writer, corr int32, resp kmsg.Response) error {
	out := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(corr))
	if resp.IsFlexible() {
		out = append(out, 0) // no tags
	}
	out = resp.AppendTo(out)
	binary.BigEndian.PutUint32(out, uint32(len(out)-4))
	_, err := w.Write(out)
	return err
}
