package events

// Letter is the value of a record on the dlq topic, as JSON: an input that could not
// be read, or was refused for good without anybody to tell, as it was.
type Letter struct {
	ID        string         `json:"id"` // position of the journal record that put it here
	Reason    string         `json:"reason"`
	Path      string         `json:"path,omitempty"`
	Workflow  string         `json:"workflow,omitempty"`
	Topic     string         `json:"topic"`
	Partition int32          `json:"partition"`
	Offset    int64          `json:"offset"`
	Time      int64          `json:"timestamp_ms"`
	Headers   []LetterHeader `json:"headers"`
	Key       []byte         `json:"key"`   // base64
	Value     []byte         `json:"value"` // base64
}

// LetterHeader is a header of the input.
type LetterHeader struct {
	Key   string `json:"key"`
	Value []byte `json:"value"` // base64
}
