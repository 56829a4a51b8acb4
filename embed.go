// Package heddle holds what the repository's root describes for every service:
// the topics of a deployment.
package heddle

import _ "embed"

// TopicsYAML is topics.yaml, the one source of truth for topics. Package
// internal/kafka/topics parses it.
//
//go:embed topics.yaml
var TopicsYAML []byte
