package typescript

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-run/heddle/shared/frames"
)

// Frames with each kind of field, at the edges of their values; fields are in the order of their numbers.
var (
	toServer = []string{
		`{"type":"ToServerInit","name":"ann","version":0,"totalSlots":1,"lastCommandIdx":null}`,
		`{"type":"ToServerInit","name":"größer 🙂","version":4294967295,"totalSlots":1000,"lastCommandIdx":0,"instance":"i",` +
			`"prepopulateTaskNames":{"a":{"of":[1,2]},"b":null,"__proto__":7},"metadata":{"deep":[null,{"x":""}]}}`,
		`{"type":"ToServerInit","name":"a","version":1,"totalSlots":2,"lastCommandIdx":-1,"metadata":null}`,
		`{"type":"ToServerEvents"}`,
		`{"type":"ToServerEvents","events":[{"index":0,"inner":{"type":"TaskState","token":"t","state":"running"}},` +
			`{"index":127,"inner":{"type":"TaskState","token":"t","state":"stopped","ok":true,"result":[0,-1.5,"x",false,null]}},` +
			`{"index":128,"inner":{"type":"TaskState","token":"t","state":"stopped","error":{"type":"e","message":"m","retryable":false,"retryAfter":128,"details":0}}},` +
			`{"index":562949953421312,"inner":{"type":"Heartbeat","token":"t","details":{"n":1}}},{"index":562949953421313,"inner":{"type":"SetAlarm","token":"t","at":null}},` +
			`{"index":9007199254740990,"inner":{"type":"SetAlarm","token":"t","at":1893456000000}},{"index":9007199254740991,"inner":{"type":"TaskIntent","token":"t","intent":"sleep"}}]}`,
		`{"type":"ToServerAckCommands","lastCommandIdx":16384}`,
		`{"type":"ToServerPing","ts":0}`,
		`{"type":"ToServerKvRequest","requestId":1,"token":"t","inner":{"type":"KvGet","keys":["a","","ü"]}}`,
		`{"type":"ToServerKvRequest","requestId":2,"token":"t","inner":{"type":"KvList","prefix":"p","reverse":true,"limit":128}}`,
		`{"type":"ToServerKvRequest","requestId":3,"token":"t","inner":{"type":"KvList"}}`,
		`{"type":"ToServerKvRequest","requestId":4,"token":"t","inner":{"type":"KvPut","entries":[{"key":"a","value":null},{"key":"b","value":"` + strings.Repeat("long", 20000) + `"}]}}`,
		`{"type":"ToServerStopping"}`,
		`{"type":"ToServerTunnel","requestId":"r","messageIdx":65535,"inner":{"type":"ResponseStart","status":200,"headers":[{"name":"n","value":"v"}]}}`,
		`{"type":"ToServerTunnel","requestId":"r","messageIdx":0,"inner":{"type":"ResponseChunk","body":"AP_-_wE"}}`,
		`{"type":"ToServerTunnel","requestId":"r","messageIdx":1,"inner":{"type":"ResponseEnd"}}`,
	}
	toClient = []string{
		`{"type":"ToClientInit","runnerId":"p.1.2","lastEventIdx":-1,"metadata":{"runnerLostThreshold":15000,"pingTimeout":15000,"limits":{"maxPayload":1048576,"maxKvKeys":128,"maxKvKey":2048,"maxKvValue":131072,"maxTunnelBody":0}}}`,
		`{"type":"ToClientCommands","commands":[{"index":3,"inner":{"type":"StartTask","token":"t","attempt":1,"task":"images.thumbnail","workflow":"w","component":"c",` +
			`"input":{"n":1},"context":{"a":[]},"deadline":1893456000000,"idempotencyKey":"k","traceparent":"00","heartbeat":false,"timeout":1,"heartbeatTimeout":300}},` +
			`{"index":4,"inner":{"type":"StopTask","token":"t","reason":"cancelled"}}]}`,
		`{"type":"ToClientAckEvents","lastEventIdx":7}`,
		`{"type":"ToClientPong","ts":1893456000000}`,
		`{"type":"ToClientKvResponse","requestId":1,"entries":[{"key":"a","value":1e-9}]}`,
		`{"type":"ToClientKvResponse","requestId":2,"error":{"code":"c","message":"m"}}`,
		`{"type":"ToClientClose","reason":"r"}`,
		`{"type":"ToClientTunnel","requestId":"r","messageIdx":2,"inner":{"type":"WebSocketMessage","data":"` + strings.Repeat("AAAA", 5000) + `","text":true}}`,
	}
)

// vector is a message in both forms.
type vector struct {
	Frame  string          `json:"frame"`
	JSON   json.RawMessage `json:"json"`
	Binary string          `json:"binary"`
}

// vectors are the frames as Go reads and writes them.
func vectors(t *testing.T) (all []byte) {
	t.Helper()
	add := func(name, text string, binary []byte) {
		line, err := json.Marshal(vector{name, json.RawMessage(text), hex.EncodeToString(binary)})
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, line...), '\n')
	}
	for _, text := range toServer {
		f, err := frames.DecodeToServer(frames.JSON, []byte(text))
		if err != nil {
			t.Fatalf("%.200s: %v", text, err)
		}
		add("FrameToServer", text, frames.EncodeToServer(frames.Binary, f))
	}
	for _, text := range toClient {
		f, err := frames.DecodeToClient(frames.JSON, []byte(text))
		if err != nil {
			t.Fatalf("%.200s: %v", text, err)
		}
		add("FrameToClient", text, frames.EncodeToClient(frames.Binary, f))
	}
	return all
}

// Binary frames are the same bytes in Go and in TypeScript, and mean the same as those of JSON.
func TestBinaryFramesAreThoseOfGo(t *testing.T) {
	ran(t, "npm", "run", "--silent", "build")
	cmd := exec.CommandContext(t.Context(), "node", "codec.mjs")
	cmd.Stdin = bytes.NewReader(vectors(t))
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("%d frames\n", len(toServer)+len(toClient)); err != nil || string(out) != want {
		t.Errorf("%v\n%.4000s", err, out)
	}
}
