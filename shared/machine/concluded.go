package machine

import "github.com/heddle-run/heddle/shared/events"

// Concluded is what the events of a record come to, with the effects that follow from them: the outcome of
// an entity that answers a command only to refuse it. Without events nothing comes of it.
func Concluded(id string, list []events.Event, effects []Effect) Outcome {
	if len(list) == 0 {
		return Outcome{}
	}
	out := Outcome{Events: list, Effects: effects, Due: true}
	if refused, is := list[0].(*events.CommandRefused); is {
		out.Answer = events.Reply{
			Kind: events.ReplyDecided, Workflow: id, Result: events.ResultRefused, Command: refused.Command,
			Refusal: &events.Refusal{Code: refused.Code, Message: refused.Message},
		}
	}
	return out
}
