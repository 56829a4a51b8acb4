// Package service runs a group of services in one process and serves what every
// service shows of itself: /livez, /readyz and /metrics.
//
// A Group starts its members in order, each when the one before is ready, and
// stops them in the opposite order. The first member that fails ends the group.
package service
