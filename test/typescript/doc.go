// Package typescript holds the TypeScript SDK against the runner protocol: its example passes in two Nodes the
// cases of `heddle conformance runner`, its package for npm has what it should and runs in Chromium, and the runners of examples/images,
// in Go and in TypeScript, survive kill -9 of themselves and of services. `make typescript` installs the compiler from npm and runs it.
package typescript
