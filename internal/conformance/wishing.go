package conformance

import (
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

func wishing() []one[*trial] {
	return []one[*trial]{
		{"W01", "an attempt that sleeps says until when, and ends", w01},
		{"W02", "an attempt asks to be stopped, and is told to", w02},
	}
}

func w01(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "park", "4102444800000")
	all := p.events(3)
	alarm, set := all[0].Inner.(*frames.SetAlarm)
	t.check(set && alarm.Token == "a" && alarm.At != nil && *alarm.At == 4_102_444_800_000, "at first it says %+v, want an alarm at 4102444800000", all[0].Inner)
	intent, is := all[1].Inner.(*frames.TaskIntent)
	t.check(is && intent.Token == "a" && intent.Intent == frames.IntentSleep, "then it says %+v, want that it sleeps", all[1].Inner)
	end, is := all[2].Inner.(*frames.TaskState)
	t.check(is && end.Token == "a" && end.State == frames.StateStopped && !end.OK && end.Error.Type == "sleeping", "it has ended as %+v, want the type sleeping", all[2].Inner)
	p.commands(frames.Command{Index: 1, Inner: &frames.StopTask{Token: "a", Reason: frames.StopRequested}})
	p.silent(t.scaled(10 * time.Second))
}

func w02(t *trial) {
	p := t.begin()
	p.run(0, 0, "a", "resign", "null")
	intent, is := p.events(1)[0].Inner.(*frames.TaskIntent)
	t.check(is && intent.Token == "a" && intent.Intent == frames.IntentStop, "it says %+v, want that it wants to stop", intent)
	p.silent(t.scaled(10 * time.Second))
	p.commands(frames.Command{Index: 1, Inner: &frames.StopTask{Token: "a", Reason: frames.StopRequested}})
	end := p.state(2, "a", frames.StateStopped)
	t.check(end.OK && same(end.Result, []byte(`"requested"`)), "it has ended as %+v, %+v, want the reason", end, end.Error)
}
