package events

// EntityList is what one partition has of a list of entities, or of what is in them: a page of it.
type EntityList[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"` // the cursor of those behind them; empty: there are none
}
