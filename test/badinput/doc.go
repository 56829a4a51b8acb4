// Package badinput feeds a whole deployment over the embedded broker (planner,
// worker, gateway) what no client should send: records that cannot be decoded,
// commands nobody knows, wrong keys, states, ids and tokens, values that are too
// large, and a machine that panics. Each test shows the typed error that comes
// back, and that the partition goes on: a good workflow that is started on it
// afterwards ends.
package badinput
