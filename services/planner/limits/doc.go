// Package limits is the machine of entities key:concurrency/NAME, key:breaker/NAME and key:rate/NAME. One grants permits to
// the attempts of all workflows of all partitions that have its key: so many at a time, as long as they do not fail, or so many
// in a time, in order of priority and arrival. It never takes a permit from an attempt that may be open: it asks the attempt's workflow.
package limits
