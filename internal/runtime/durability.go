package runtime

import (
	"encoding/json"
	"fmt"
)

// Durability says what an acknowledgement of the broker survives. In JSON it is
// "memory", "cache" or "fsync", or {"replicated": {"rf": 3, "min_isr": 2}}.
type Durability struct {
	Local      string // memory, cache or fsync; empty when replicated
	Replicated *Replicated
}

// Replicated is Kafka's own durability.
type Replicated struct {
	RF     int `json:"rf"`
	MinISR int `json:"min_isr"`
}

type replicatedForm struct {
	Replicated *Replicated `json:"replicated"`
}

// MarshalJSON implements json.Marshaler.
func (d Durability) MarshalJSON() ([]byte, error) {
	if d.Replicated != nil {
		return json.Marshal(replicatedForm{d.Replicated})
	}
	return json.Marshal(d.Local)
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *Durability) UnmarshalJSON(b []byte) error {
	*d = Durability{}
	if len(b) > 0 && b[0] == '{' {
		var f replicatedForm
		if err := json.Unmarshal(b, &f); err != nil || f.Replicated == nil {
			return fmt.Errorf("durability %s: want {\"replicated\": {\"rf\", \"min_isr\"}}", b)
		}
		d.Replicated = f.Replicated
		return nil
	}
	if err := json.Unmarshal(b, &d.Local); err != nil {
		return fmt.Errorf("durability %s: %w", b, err)
	}
	switch d.Local {
	case "memory", "cache", "fsync":
		return nil
	}
	return fmt.Errorf("durability %q: want memory, cache, fsync or replicated", d.Local)
}
