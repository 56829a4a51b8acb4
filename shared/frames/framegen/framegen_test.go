package main

import (
	"os"
	"testing"
)

func TestWhatIsGeneratedIsUpToDate(t *testing.T) {
	for name, generate := range map[string]func(string) (string, error){
		"docs/runner-protocol.yaml": asyncAPI, "sdk/typescript/src/frames.ts": typeScript,
		"sdk/typescript/src/schema.ts": func(string) (string, error) { return schema(), nil },
	} {
		have, err := os.ReadFile("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := generate("..")
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != want {
			t.Errorf("%s is not what the frames describe: run `make generate`", name)
		}
	}
}
