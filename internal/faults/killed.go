package faults

// Killed tells a part of a program that a test takes its process for killed: it then
// ends without a goodbye, as its process would. The zero value never does.
type Killed struct{ by func() bool }

// KilledBy asks by each time. In a program without faults nobody does.
func KilledBy(by func() bool) Killed { return Killed{by} }

// Now reports whether the process counts as killed.
func (k Killed) Now() bool { return Built && k.by != nil && k.by() }
