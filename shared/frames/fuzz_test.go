package frames_test

import (
	"testing"

	"github.com/heddle-run/heddle/shared/frames"
	"github.com/heddle-run/heddle/shared/wire"
	"github.com/heddle-run/heddle/shared/wire/wiretest"
)

// seeds are frames of each kind that is not trivial.
func seeds(f *testing.F) {
	for _, text := range []string{
		`{"type":"ToServerInit","name":"a","version":1,"totalSlots":2,"lastCommandIdx":null,"prepopulateTaskNames":{"t":{}},"metadata":[1]}`,
		`{"events":[{"index":0,"inner":{"token":"k","type":"TaskState","state":"stopped","ok":true,"result":{"a":1}}}],"type":"ToServerEvents"}`,
		`{"type":"ToServerKvRequest","requestId":1,"token":"k","inner":{"type":"KvPut","entries":[{"key":"a","value":1}]}}`,
		`{"type":"ToServerTunnel","requestId":"r","messageIdx":1,"inner":{"type":"ResponseStart","status":200,"headers":[{"name":"a","value":"b"}]}}`,
		`{"type":"ToClientInit","runnerId":"r","lastEventIdx":-1,"metadata":{"runnerLostThreshold":15000,"pingTimeout":15000,"limits":{"maxPayload":1}}}`,
		`{"type":"ToClientCommands","commands":[{"index":0,"inner":{"type":"StartTask","token":"k","attempt":1,"task":"t","input":{}}}]}`,
		`{"type":"ToClientKvResponse","requestId":1,"error":{"code":"c","message":"m"}}`,
	} {
		f.Add([]byte(text))
		var s frames.FrameToServer
		var c frames.FrameToClient
		if wire.FromJSON([]byte(text), &s) == nil {
			f.Add(wire.Marshal(&s))
		}
		if wire.FromJSON([]byte(text), &c) == nil {
			f.Add(wire.Marshal(&c))
		}
	}
}

// What decodes has one form in each encoding, which says the same.
func FuzzDecodeFrame(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range []frames.Encoding{frames.JSON, frames.Binary} {
			var s frames.ToServer
			var c frames.ToClient
			var notServer, notClient error
			wiretest.Bounded(t, len(b), 128, 0, func() {
				s, notServer = frames.DecodeToServer(e, b)
				c, notClient = frames.DecodeToClient(e, b)
			})
			for _, other := range []frames.Encoding{frames.JSON, frames.Binary} {
				if notServer == nil {
					own := frames.EncodeToServer(other, s)
					if back, err := frames.DecodeToServer(other, own); err != nil || string(frames.EncodeToServer(other, back)) != string(own) {
						t.Errorf("%q (%v) is written as %q (%v), which comes back as %+v, %v", b, e, own, other, back, err)
					}
				}
				if notClient == nil {
					own := frames.EncodeToClient(other, c)
					if back, err := frames.DecodeToClient(other, own); err != nil || string(frames.EncodeToClient(other, back)) != string(own) {
						t.Errorf("%q (%v) is written as %q (%v), which comes back as %+v, %v", b, e, own, other, back, err)
					}
				}
			}
			if r, ok := s.(*frames.ToServerKvRequest); ok && notServer == nil {
				if err := r.Inner.Check(); err != nil && (err.Code == "" || err.Message == "") {
					t.Errorf("an error without code or message: %+v", err)
				}
			}
		}
	})
}

// What executors and gateways pass on has one form, too.
func FuzzDecodeTunnel(f *testing.F) {
	f.Add(wire.Marshal(&frames.Tunnel{RequestID: "r", MessageIdx: 65535, Inner: &frames.RequestStart{Token: "t", Method: "GET", Path: "/"}}))
	f.Add(wire.Marshal(&frames.Tunnel{RequestID: "r", Inner: &frames.TunnelAck{LastMessageIdx: 65535}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := frames.DecodeTunnel(b)
		if err != nil {
			return
		}
		own := wire.Marshal(m)
		if back, err := frames.DecodeTunnel(own); err != nil || string(wire.Marshal(back)) != string(own) {
			t.Errorf("%x is written as %x, which comes back as %+v, %v", b, own, back, err)
		}
	})
}

func FuzzParseConnect(f *testing.F) {
	f.Add("json", frames.TokenProtocol("secret"))
	f.Fuzz(func(t *testing.T, encoding, protocol string) {
		if e, err := frames.ParseEncoding(encoding); err == nil && encoding != "" && e.String() != encoding {
			t.Errorf("%q is read as %v", encoding, e)
		}
		if token, err := frames.ParseTokenProtocol([]string{protocol}); err == nil && token != "" && frames.TokenProtocol(token) != protocol {
			t.Errorf("%q has the token %q", protocol, token)
		}
	})
}
