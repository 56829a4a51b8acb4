package events

// New makes an empty event of a kind.
var New = newEvent
