package main

import (
	"os"
	"testing"
)

func TestTheDocumentIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("../../../docs/runner-protocol.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := asyncAPI("..")
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Fatal("docs/runner-protocol.yaml is not what the frames describe: run `make generate`")
	}
}
