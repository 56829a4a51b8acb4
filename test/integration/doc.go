// Package integration runs whole deployments against Apache Kafka: the four
// services as processes of the heddle binary, and kill -9 where it hurts.
//
// Its tests have the build tag integration and need a Docker engine:
//
//	make test-integration
//
// Where Docker does not answer they say so and are left out, except in CI
// (CI=true), where they fail. HEDDLE_KAFKA_IMAGE names the broker's image,
// HEDDLE_KAFKA_BROKERS brokers that run already. Each test has a deployment of
// its own: a prefix, topics and processes.
package integration
