// Package access says who may use what is served over HTTP: static keys with roles, and which addresses are
// of this machine only. It is used by the gateway and by executors that serve runners.
package access
