package partition

// How an owner stands with the group that has given it its partition.
const (
	moored int32 = iota // the process is a member, as far as it knows
	adrift              // it is none any more
	sunk                // the owner has ended adrift
)

// Adrift tells an owner that its process is no member of the group any more: the
// group's coordinator is away, or has not heard of the process for too long. The lease
// says who owns a partition, the group only who may claim it. So an owner goes on for
// as long as it can renew its lease: it can until the planner that the group has given the
// partition to has fenced it, and then releases the lease. It claims nothing
// while it is adrift: it ends with its tenure. One that does not own is dropped. Adrift
// reports whether the owner goes on.
func (o *Owner) Adrift() bool {
	if o.Status().State != Owning || !o.mooring.CompareAndSwap(moored, adrift) {
		o.Drop()
		return false
	}
	return true
}

// Moor tells an owner that the group has given its partition to its process again,
// and reports whether it is still there.
func (o *Owner) Moor() bool {
	return o.mooring.CompareAndSwap(adrift, moored) || o.mooring.Load() == moored
}

// sink ends an owner without a tenure that is adrift: it may not begin another. It reports
// whether it has ended so.
func (o *Owner) sink() bool {
	return o.mooring.CompareAndSwap(adrift, sunk) || o.mooring.Load() == sunk
}
