package equivalence

import (
	"sync"
	"time"

	"github.com/heddle-run/heddle/test/sim/workload"
)

// weather is what the network does to requests that matter, of all processes.
type weather struct {
	w     *world
	every int // one of so many requests meets with something; 0: the network is good

	mu sync.Mutex
	d  workload.Dice
}

// worsen makes the network bad from now on, or good again.
func (n *weather) worsen(every int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.every = every
}

// longest bounds how late an answer is: some leases end meanwhile.
const longest = 4000 // ms

type trouble int

const (
	fair       trouble = iota
	cutBefore          // the connection breaks, the request has not left
	cutBehind          // the connection breaks, the request has left
	lateAnswer         // the answer to it takes long
)

func (n *weather) next() (trouble, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.every == 0 || !n.d.One(n.every) {
		return fair, 0
	}
	return workload.Pick(n.d, cutBefore, cutBehind, cutBehind, lateAnswer), n.d.Millis(1, longest)
}

// write sends a request as the weather allows.
func (n *weather) write(c *tripped, b []byte) (int, error) {
	what, late := n.next()
	switch what {
	case cutBefore:
		n.w.happened("a request that is lost")
		return 0, c.lost()
	case lateAnswer:
		n.w.happened("an answer that is late")
		c.late.Store(int64(late))
	}
	wrote, err := c.Conn.Write(b)
	if what == cutBehind && err == nil {
		n.w.happened("an answer that is lost")
		err = c.lost()
	}
	return wrote, err
}
