// Package frames is the language between a runner and the executor that holds its socket: what is
// said over one WebSocket, each frame described once by package wire.
//
// A frame is a text frame of JSON, an object whose "type" names it; where the runner has asked for
// it (QueryEncoding), it is a binary frame with the same message in Protocol Buffers, of the type
// FrameToServer or FrameToClient in runner.proto. Reading is strict: a field that nobody described
// makes a frame undecodable, so what is added later has a new protocol version.
//
// Commands go to the runner and events to the server. Either has an index from 0 without gaps, per
// runner id; the receiver passes what it has had, so that repeating is harmless, and acknowledges
// what it has received. An attempt is named by its token, the text by which the API knows it too.
//
// Times are Unix milliseconds and lengths of time milliseconds. Values of users (inputs, results,
// details, values of keys) are JSON as it was written; in a decoded frame they alias its bytes. The
// package is pure.
package frames
