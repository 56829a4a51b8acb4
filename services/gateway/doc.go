// Package gateway serves Heddle over HTTP. It owns nothing that could not be
// made again: commands go to Kafka and are answered by planners; reads are
// questions to the owning planner; histories come from the journal; lists
// come from a view of the status topic that is rebuilt when it is lost.
//
// Every route stands in one table (routes.go), from which the router, the
// limits and the OpenAPI document are made. A handler returns an error instead
// of writing one: problem.go turns refusals and faults into RFC 9457 problems
// whose types are stable.
package gateway
