// Package readinessd is the readiness service: it follows the records that
// planners publish to authority, derives what package readiness makes of them
// and of the clock, publishes that to readiness, and serves it over HTTP.
//
// It needs no planner to answer, and any number of it may run: all publish the
// same.
package readinessd
