package main

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

func TestTheHelpNamesEveryExitCode(t *testing.T) {
	for _, code := range []int{codeDone, codeFailed, codeUsage, codeUnreachable, codeHeld, codeConditions, codeInterrupted} {
		if !strings.Contains(strings.Join(strings.Fields(about), " "), fmt.Sprintf(" %d ", code)) {
			t.Errorf("the help does not name exit code %d", code)
		}
	}
}

// What a command is about comes first: settings of access, which many have, are last.
func TestACommandsOwnFlagsComeBeforeThoseOfAccess(t *testing.T) {
	for command, own := range map[string]string{"input": "--wait", "planner": "--data", "bench": "--idle", "journal tail": "--partition", "topics apply": "--queue"} {
		code, help, _ := heddle(t, "", append(strings.Fields(command), "--help")...)
		if code != codeDone || strings.Index(help, own+"=") > strings.Index(help, "\nAccess to Kafka\n") || strings.Index(help, "\nAccess to Kafka\n") > strings.Index(help, "--kafka-tls") {
			t.Errorf("heddle %s --help: exit %d\n%s", command, code, help)
		}
	}
}

// The deployment to talk to is the same with every command that talks to one.
func TestACommandsOwnFlagsComeBeforeTheDeployment(t *testing.T) {
	for command, own := range map[string]string{"start": "--input", "input": "--wait", "list": "--where", "retry": "--resume", "fail": "--type", "runnables": "--status", "watch": "--stay"} {
		_, help, _ := heddle(t, "", command, "--help")
		before, after, found := strings.Cut(help, "\nWhich deployment\n")
		if !found || !strings.Contains(before, " "+own) || !strings.HasPrefix(after, "  --url=URL") {
			t.Errorf("heddle %s --help:\n%s", command, help)
		}
	}
}

func TestAnAddressInUseIsToldWithWhatToDo(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	code, _, told := heddle(t, "", "broker", "--memory", "--kafka", taken.Addr().String())
	if code != codeFailed || !strings.Contains(told, "address already in use; give another address, or none to take the next free port") {
		t.Errorf("exit %d, %s", code, told)
	}
}
