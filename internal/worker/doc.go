// Package worker is the consumer of task queues that executor services and the
// worker SDK share: it takes attempts from tasks.QUEUE, runs them in slots, and
// reports to inbox how they ended.
//
// An attempt's way through a Worker, with the one place that does each step:
//
//  1. consumer.poll    polls records and enters them in the tracker as taken;
//     a token that was taken lately is dropped
//  2. consumer.hand    offers them to the slots; until these have taken all of
//     them nothing is polled, and after a while without a free slot fetching is
//     paused
//  3. Worker.execute    runs the task under its deadline; panics are failures
//  4. Worker.sweep      an attempt that outlives the grace is notified, then
//     heartbeats guard it
//  5. Worker.end        produces the outcome to the workflow's inbox partition
//  6. tracker.settle   once the outcome, or a notification, is acknowledged the
//     record's place in its log is done
//  7. consumer.commit  commits, per partition, up to the lowest place that is
//     not done
//
// What a death leaves: the records past the committed offset are taken again by
// the partition's next worker (their tasks run at least once); those before it
// were either finished or are notified, and the planner sees their heartbeats
// stop. Nothing else is durable here.
//
// One mutex, the tracker's, guards what is shared between the goroutines; every
// hold is short and none waits for I/O.
package worker
