package partition

import "errors"

var errNotCompared = errors.New("the clock could not be compared with the broker's, or not since it jumped")
