// Package feed is what comes in: one reader of the input logs for all partitions of a
// process (Router), which hands each record to its owner's mailbox (Mailbox) and says
// what cannot be read (faults.go). The owner takes what has arrived in each of its steps.
package feed
