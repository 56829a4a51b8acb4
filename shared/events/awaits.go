package events

import "fmt"

// AwaitsWorker is what an attempt waits for that is in a queue and was not answered, in
// the words of the planner. It does not know whether anybody takes from the queue; who
// does may find the words, and say more.
func AwaitsWorker(queue string) string {
	return fmt.Sprintf("a worker of the queue %q: none has said that it runs it", queue)
}

// AwaitsSlot is likewise what an attempt waits for that a pool of runners was offered. The planner of a workflow does not know its
// place in the pool's queue.
func AwaitsSlot(pool string) string {
	return fmt.Sprintf("a free slot of a runner of the pool %q: heddle pools %s shows its queue", pool, pool)
}
