// Package carrier is the parcel service of the example: an ordinary HTTP
// service that knows nothing of Heddle. A setting binds the queue `carrier` to
// its address, and every attempt arrives as a POST.
package carrier

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Order is what the carrier reads of an order.
type Order struct {
	ID    string `json:"id"`
	Lines []struct {
		SKU      string `json:"sku"`
		Quantity int    `json:"quantity"`
	} `json:"lines"`

	// Simulate makes the carrier misbehave on purpose.
	Simulate struct {
		Fails      int  `json:"carrier_fails"` // so many attempts
		TakesMS    int  `json:"carrier_ms"`
		OutOfStock bool `json:"out_of_stock"`
	} `json:"simulate"`
}

// request is the value of the steps carrier.reserve and carrier.label.
type request struct {
	Order Order `json:"order"`
}

// problem is an error body as the executor takes it over.
type problem struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Handler serves POST /carrier.reserve and POST /carrier.label.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /carrier.reserve", task(reserve))
	mux.HandleFunc("POST /carrier.label", task(label))
	return mux
}

// task reads the request, lets one operation work on it and writes what comes
// of it: a result, or a problem with its status.
func task(do func(Order, int) (any, int)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in request
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			answer(w, http.StatusBadRequest, problem{Type: "not_json", Message: err.Error()})
			return
		}
		attempt, err := strconv.Atoi(r.Header.Get("Heddle-Attempt"))
		if err != nil {
			answer(w, http.StatusBadRequest, problem{Type: "no_attempt", Message: "Heddle-Attempt: " + err.Error()})
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Duration(in.Order.Simulate.TakesMS) * time.Millisecond):
		}
		out, status := do(in.Order, attempt)
		answer(w, status, out)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A caller that hung up does not need the answer.
	_ = json.NewEncoder(w).Encode(body)
}

func reserve(o Order, _ int) (any, int) {
	if o.Simulate.OutOfStock {
		return problem{Type: "out_of_stock", Message: fmt.Sprintf("no %s left", o.Lines[0].SKU)}, http.StatusUnprocessableEntity
	}
	pieces := 0
	for _, line := range o.Lines {
		pieces += line.Quantity
	}
	return map[string]any{"shelf": "A" + strconv.Itoa(len(o.ID)%7), "pieces": pieces}, http.StatusOK
}

func label(o Order, attempt int) (any, int) {
	if attempt <= o.Simulate.Fails {
		return problem{Type: "carrier_down", Message: "our printer is on fire, please come back", Retryable: true}, http.StatusServiceUnavailable
	}
	return map[string]any{"tracking": "HDL-" + o.ID}, http.StatusOK
}
