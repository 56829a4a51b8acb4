// Package dev runs a whole deployment in one process: the embedded broker and
// the four services, as `heddle dev`, the demo, the benchmarks and tests use it.
// The demo lets the planner run as a process of its own, to kill it.
//
// The data directory holds
//
//	lock       held while a process uses the directory
//	dev.json   where the running deployment is (package devfile)
//	token.key  the secret that task tokens are made with
//	broker/    the broker's logs: the truth
//	planner/   the planner's stores, rebuilt from the broker when lost
//	gateway/   the gateway's view, likewise
//
// The services talk over Kafka as they do in processes of their own, and each
// can be stopped and started while the others run.
package dev
