package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

// apartTests wait for most of their time, for leases that end and ports that are silent. Each has a process of its own,
// as it wants the working directory and the environment to itself; these run beside all other tests.
var apartTests = []string{
	"TestTheDemoEndsAsPromised", "TestAPortThatSpeaksSomethingElseIsToldOf", "TestAnOperatorsWordsToAPartition",
	"TestALongMapOutlivesItsPlanner", "TestAnOperationGoesOnAfterCtrlC",
}

// asTest, in the environment, names the test that a process is for.
const asTest = "TESTS_RUN_APART"

// others are the processes that run, by test.
var others sync.Map

// ending is how a process ended.
type ending struct {
	said []byte
	err  error
}

// startApart starts the tests that have processes of their own, where all tests run.
func startApart() {
	flag.Parse()
	if os.Getenv(asTest) != "" || flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.list").Value.String() != "" {
		return
	}
	for _, name := range apartTests {
		others.Store(name, startTest(name))
	}
}

// startTest starts a test in a process of its own; what it gives waits for its end.
func startTest(name string) func() ending {
	var out bytes.Buffer
	own, err := os.Executable()
	if err != nil {
		return func() ending { return ending{nil, err} }
	}
	cmd := exec.Command(own, "-test.run", "^"+name+"$", "-test.v", "-test.timeout", "5m")
	cmd.Env = append(os.Environ(), asTest+"="+name)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return func() ending { return ending{nil, err} }
	}
	return func() ending {
		err := cmd.Wait()
		return ending{out.Bytes(), err}
	}
}

// apart reports whether a test runs in the process that is for it. In any other it has run there when apart returns.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(asTest) == t.Name() {
		return true
	}
	if !slices.Contains(apartTests, t.Name()) {
		t.Fatal("it is not one of those that have a process of their own")
	}
	end, started := others.LoadAndDelete(t.Name())
	if !started {
		end = startTest(t.Name())
	}
	how := end.(func() ending)()
	switch {
	case how.err != nil || !bytes.Contains(how.said, []byte("--- ")):
		t.Errorf("%v\n%s", how.err, how.said)
	case bytes.Contains(how.said, []byte("--- SKIP")):
		t.Skipf("%s", how.said)
	}
	return false
}
