// Package keeping asks the owners of attempts for what attempts keep, for the runners that have them: requests for keys
// become commands and queries over Kafka, and their answers frames (decision 0103).
package keeping
