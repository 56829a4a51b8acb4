package service

import (
	"io"
	"net/http"
	"time"
)

// bodyTime is how long a request's body may take to arrive. What a handler waits
// for afterwards is not bounded by it.
const bodyTime = 30 * time.Second

// timely bounds the time of requests' bodies, also of those that a handler does not
// read: the server reads their rest before it goes on.
func timely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			ctl := http.NewResponseController(w)
			if ctl.SetReadDeadline(time.Now().Add(bodyTime)) == nil { // else it is no connection
				r.Body = &timelyBody{r.Body, ctl}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timelyBody lifts the limit when it has been read to its end: a client that waits
// for its answer is silent.
type timelyBody struct {
	io.ReadCloser
	ctl *http.ResponseController
}

// Read implements io.Reader.
func (b *timelyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.ctl.SetReadDeadline(time.Time{}) // it could be set
	}
	return n, err
}
