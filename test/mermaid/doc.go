// Package mermaid holds what Heddle draws against Mermaid itself: its parser reads each
// drawing, and the picture shows the names that the definition has. `make mermaid`
// installs Mermaid from npm and runs it.
package mermaid
