//go:build !synctests

package faults

// Built reports whether the switches are there.
const Built = false
