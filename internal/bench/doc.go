// Package bench measures a deployment from outside, as its users see it:
// workflows started and awaited through sdk/client, steps run by sdk/worker in
// this process. Package floor measures the same record flow with empty logic,
// to compare with.
package bench
