package events

// New makes an empty event of a kind.
var New = newEvent

// ScanStart reads a start without encoding/json; nil: it cannot.
var ScanStart = scanStart
