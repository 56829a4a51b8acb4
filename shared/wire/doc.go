// Package wire encodes messages as Protocol Buffers from one description per
// message: its Fields method names every field once, and the same method
// serves encoding, decoding, JSON for people and the published schema.
//
// The bytes are ordinary proto3 (https://protobuf.dev/programming-guides/encoding/):
// readers in other languages use the .proto files that are generated from the
// same descriptions. Decoding is strict: an unknown field is an error, because
// a reader that skips what it does not know derives another state.
//
// The package is pure; decoded byte fields alias the input buffer, which the
// caller must not change afterwards.
package wire
