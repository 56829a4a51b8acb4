package main

import (
	"os"
	"testing"

	"github.com/heddle-run/heddle/internal/conformance"
	"github.com/heddle-run/heddle/shared/frames"
)

const child = "HEDDLE_TEST_RUNNER"

// The test's own binary is the program, too.
func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheGoSDKPassesTheConformanceSuite(t *testing.T) {
	for encoding, only := range map[frames.Encoding][]string{
		frames.JSON: nil, frames.Binary: {"C01", "M01", "R06", "E06", "E12", "H01", "K01", "L02", "D01"},
	} {
		t.Run(encoding.String(), func(t *testing.T) {
			passed := 0
			err := conformance.Run(t.Context(), conformance.Options{
				Command: []string{os.Args[0]}, Env: []string{child + "=1"}, Encoding: encoding, Scale: 0.01, Only: only,
			}, func(r conformance.Result) {
				if passed++; r.Failure != "" {
					t.Errorf("%s, %s: %s\n%s", r.Name, r.About, r.Failure, r.Output)
				} else if r.Among != "" {
					t.Logf("%s, %s: by itself; among others: %s", r.Name, r.About, r.Among)
				}
			})
			if err != nil || passed < 9 {
				t.Errorf("%d cases, %v", passed, err)
			}
		})
	}
}
