package events

// Version counts what the journal's records are and the state that they fold to.
// It is in no record: an event keeps its number and its meaning for ever, and one
// decoder reads them all. It names the golden journals that are kept of it, and
// goes up with the first change of an event or of a row after a release.
const Version = 1
