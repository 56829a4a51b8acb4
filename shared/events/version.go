package events

// Versions of the formats of internal records. A record says its own in a header
// (wire.FormatHeader); a program that meets a later one than it knows stops there, and reads
// all earlier ones for ever. A version goes up with the first change that an older
// reader would not understand or would misread.
const (
	// Version is that of the journal's records and of the rows that they fold to: in
	// stores and in the changelog. It names the golden journals that are kept of it.
	Version = 2
	// InboxVersion is that of what workers report.
	InboxVersion = 1
	// TaskVersion is that of tasks and of their cancellations.
	TaskVersion = 1
	// RunnerVersion is that of what pools have executors do on the sockets of runners.
	RunnerVersion = 1
	// TunnelVersion is that of messages of tunnels between gateways and executors.
	TunnelVersion = 1
)
