// Package faults reports whether a program was built with the switches that break it on
// purpose: flaws that a simulation must notice, and ends without a goodbye. Built is a
// constant, so that a program without them has none of their code.
package faults
