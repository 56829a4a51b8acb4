package planner

// stateMachineKind is accumulateKind with parts that react to the state: they are
// components of their own, which fold activates.
type stateMachineKind struct{ accumulateKind }
