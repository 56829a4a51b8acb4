package executor

import (
	"net/http"
	"strconv"
	"time"
)

// retryable reports whether another attempt may get another answer than this
// status: the server is overloaded, broken or away.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter is what a response asks to wait: seconds, or an HTTP date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	var d time.Duration
	if seconds, err := strconv.ParseInt(v, 10, 64); err == nil {
		d = time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}
