// Package adapter runs the attempts of a queue by an adapter of sdk/executor: it is the worker.Handler between them.
//
// A work is known by the token of the attempt that has begun it, and the planner tells whoever gets the attempt that
// replaces that one (events.Task.Work). So nothing is kept here that could be lost:
//
//	dies before                 then
//	Dispatch                    the record is taken again, or the attempt is lost and replaced; nothing was begun
//	its answer, or the note     the same, and Dispatch is called with the same key: it finds the work
//	the work's end              the attempt is lost and replaced, and Recover or Dispatch finds the work
//	the outcome's arrival       the same; what comes twice is stale by its token
//	Cancel                      the cancellation is read again from task-control, at the next start
package adapter
