// Package budget counts what each workload of the benchmarks costs and compares the
// counts with the limits in budget.yaml, so that a change which makes the engine more
// expensive fails in CI. Speed cannot be tested there: the clock of a shared machine is
// no measure. Counts can: allocations, records, requests, rows and bytes per step.
//
// Each workload runs in a bubble of virtual time (testing/synctest) on one processor:
// a step takes the same few virtual milliseconds on every machine, so batches have the
// same sizes on a busy machine and on an idle one.
//
// Start reading at TestEveryWorkloadKeepsToItsBudget. `make budgets` runs it and
// `make budgets-write` writes the counts of this tree into budget.yaml.
package budget
