// Package typescript holds the TypeScript SDK against the runner protocol: its example passes the
// cases of `heddle conformance runner`, and its package for npm has what it should. `make typescript` installs
// the compiler from npm and runs it.
package typescript
