package frames

import "github.com/heddle-run/heddle/shared/wire"

//go:generate go run ./framegen runner.proto ../../docs/runner-protocol.yaml ../../sdk/typescript/src/frames.ts ../../sdk/typescript/src/schema.ts

// Schema is the proto3 file of binary frames, published as runner.proto.
func Schema() string {
	return wire.Schema("heddle.runner.v1", &FrameToServer{}, &FrameToClient{})
}
