package loop

import (
	"testing"

	"github.com/heddle-run/heddle/shared/events"
)

// An owner may take over a log that was made anew, and end before it says so.
func TestARecreatedInputLogIsNoticedByTheNextOwner(t *testing.T) {
	l := &InputLog{}
	l.identify([]byte("one"))
	l.Row.consume(&events.InputRef{Offset: 5})
	l.identify([]byte("another"))
	l.identify([]byte("another"))
	if !l.Row.Remade {
		t.Error("the second owner knows nothing of it")
	}
	if l.jump(events.Position{Epoch: 3, Seq: 2}, 1, 0); l.Row.Remade {
		t.Error("the third owner says it again")
	}
}

// Inputs that are decided behind a request to read again, before it is
// acknowledged, must not take the position past what is to be read again.
func TestARequestToReadAgainOutlastsWhatIsInFlight(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	m.command("r", "_partition/0", "request_replay", `{"cursor":"commands@1","by":"ann","why":"test"}`)
	m.command("late", "w", "input", `{"input":1}`) // fetched, to be read again
	m.mustStep()
	m.ack()
	l := &m.p.inputs[events.FromCommands]
	if l.Row.Next != 1 || l.Durable.Next != 1 {
		t.Errorf("the journal says %d is next, a checkpoint %d, want 1", l.Row.Next, l.Durable.Next)
	}
	next := newModel(t, Settings{})
	next.replay(m, 0)
	if got := next.p.inputs[events.FromCommands].Row; got.Next != 1 || got.Jumped != m.record(len(m.journal)-1).Position {
		t.Errorf("the next owner reads on at %+v", got)
	}
}

// A log that is sought twice is read from the second place on.
func TestWhatWasSoughtBeforeIsPassedOver(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	for range 6 {
		m.input(events.FromInbox, "w", "\xff")
	}
	m.mustStep()
	m.ack()
	m.command("r", "_partition/0", "request_replay", `{"cursor":"inbox@5","by":"ann","why":"test"}`)
	m.command("s", "_partition/0", "request_replay", `{"cursor":"inbox@3","by":"ann","why":"test"}`)
	m.mustStep()
	m.ack()
	for _, at := range []int64{5, 3} {
		m.batch.Inputs[events.FromInbox] = append(m.batch.Inputs[events.FromInbox], soughtAt(at))
		m.offsets[events.FromInbox] = at
		m.input(events.FromInbox, "w", "\xff")
	}
	m.mustStep()
	m.ack()
	if got := m.p.inputs[events.FromInbox].Next; got != 4 {
		t.Errorf("the inbox is read to %d, want 4", got)
	}
}

// What is lost is lost only once the journal says so.
func TestAJumpCountsInACheckpointWithItsRecord(t *testing.T) {
	m := newModel(t, Settings{})
	m.running("w")
	before := m.p.inputs[events.FromCommands].Durable
	m.p.GoOn(events.FromCommands, &events.InputLost{Log: events.FromCommands, Generation: 1, From: 2, To: 9}, 9, nil)
	m.p.GoOn(events.FromInbox, &events.InputLogTruncated{Log: events.FromInbox, Generation: 1, Expected: 0, Resume: 0}, 0, nil)
	if got := m.p.inputs[events.FromCommands].Durable; got != before {
		t.Errorf("before the acknowledgement a checkpoint says %+v", got)
	}
	m.batch.Appended = []Appended{{Seq: m.seqOf(len(m.journal) - 2), Offset: 7}} // of the first alone
	m.mustStep()
	if got := m.p.inputs[events.FromCommands].Durable.Next; got != 9 {
		t.Errorf("behind the first record a checkpoint says that commands are read to %d, want 9", got)
	}
}
