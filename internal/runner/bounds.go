package runner

import (
	"fmt"

	"github.com/heddle-run/heddle/shared/events"
	"github.com/heddle-run/heddle/shared/frames"
)

// tooLarge is the end of an attempt whose result fits no frame.
func tooLarge(token string, size int, most int64) *frames.TaskState {
	return &frames.TaskState{Token: token, State: frames.StateStopped, Error: &frames.TaskError{
		Type: events.ErrorResultTooLarge, NonRetryable: true,
		Message: fmt.Sprintf("the result has %d bytes, the limit is %d", size, most),
	}}
}
