package conformance

import (
	"encoding/json"
	"time"

	"github.com/heddle-run/heddle/shared/frames"
)

func wanting() []one[*probe] {
	return []one[*probe]{
		{"K01", "an attempt reads what it keeps, and so does the next one, but not the one before", sk01},
		{"K07", "what an attempt keeps takes so much at most, all or none", sk07},
		{"W01", "an attempt that sleeps is told to stop, and goes on at its alarm", sw01},
		{"W02", "an attempt that asks to be stopped is told to", sw02},
		{"W03", "an attempt that sleeps without an alarm fails", sw03},
	}
}

// ask asks for keys, and takes the answer; code is empty where it is done.
func (r *scripted) ask(token, code string, q frames.KvRequest) []frames.KvEntry {
	r.request++
	r.send(&frames.ToServerKvRequest{RequestID: r.request, Token: token, Inner: q})
	a := want[*frames.ToClientKvResponse](r)
	got := ""
	if a.Error != nil {
		got = a.Error.Code
	}
	r.judge.check(a.RequestID == r.request && got == code, "%T is answered with %+v %+v, want %q", q, a, a.Error, code)
	return a.Entries
}

// keeps ends the case unless an attempt has these keys, each with the value that its name is.
func (r *scripted) keeps(token string, keys ...string) {
	all := r.ask(token, "", &frames.KvList{})
	r.judge.check(len(all) == len(keys), "the attempt has %+v, want %v", all, keys)
	for i, e := range all {
		r.judge.check(e.Key == keys[i] && same(e.Value, kept(keys[i])[0].Value), "the attempt has %+v, want %v", all, keys)
	}
}

// kept are keys, each with a value by which it is known again.
func kept(keys ...string) (all []frames.KvEntry) {
	for _, k := range keys {
		value, _ := json.Marshal(map[string]string{"of": k}) // texts always have one
		all = append(all, frames.KvEntry{Key: k, Value: value})
	}
	return all
}

func sk01(p *probe) {
	r := p.connect("a", 2)
	p.start("1", map[string]any{"match": "default", "max_retries": 1, "inherit": true})
	first := r.take().Token
	r.report(running(first))
	r.ask(first, "", &frames.KvPut{Entries: kept("a", "b", "c")})
	r.keeps(first, "a", "b", "c")
	r.ask(first, "", &frames.KvDelete{Keys: []string{"b", "x"}})
	got := r.ask(first, "", &frames.KvGet{Keys: []string{"c", "b", "a"}})
	p.check(len(got) == 2 && got[0].Key == "c" && got[1].Key == "a", "it gets %+v", got)
	p.start("2")
	other := r.take().Token
	r.report(running(other))
	r.keeps(other)
	r.report(failed(first, "once"))
	second := r.take().Token
	r.report(running(second))
	r.keeps(second, "a", "c")
	r.ask(first, frames.KvUnknownAttempt, &frames.KvPut{Entries: kept("d")})
	r.ask(first, frames.KvUnknownAttempt, &frames.KvList{})
	r.keeps(second, "a", "c")
	r.report(succeeded(second, "done"))
	p.result(p.started[0], "done")
	r.ask(second, frames.KvUnknownAttempt, &frames.KvGet{Keys: []string{"a"}})
}

func sk07(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	r.report(running(token))
	large, _ := json.Marshal(string(make([]byte, 20_000))) // six bytes for each
	entries := kept("a", "b", "c", "d")
	for i := range entries {
		entries[i].Value = large
	}
	r.ask(token, "", &frames.KvPut{Entries: entries})
	r.ask(token, frames.KvFull, &frames.KvPut{Entries: []frames.KvEntry{{Key: "e", Value: large}, {Key: "f", Value: json.RawMessage("1")}}})
	got := r.ask(token, "", &frames.KvGet{Keys: []string{"e", "f"}})
	p.check(len(got) == 0, "it gets %+v", got)
	r.ask(token, "", &frames.KvDelete{Keys: []string{"a"}})
	r.ask(token, "", &frames.KvPut{Entries: []frames.KvEntry{{Key: "e", Value: large}}})
}

// alarm is the time at which an attempt goes on.
func alarm(token string, at time.Time) frames.Report {
	return &frames.SetAlarm{Token: token, At: new(at.UnixMilli())}
}

func intent(token string, i frames.Intent) frames.Report {
	return &frames.TaskIntent{Token: token, Intent: i}
}

func sw01(p *probe) {
	r := p.connect("a", 1)
	p.start("1", map[string]any{"match": "default", "max_retries": 0, "inherit": true})
	first := r.take().Token
	r.report(running(first))
	r.ask(first, "", &frames.KvPut{Entries: kept("a")})
	const pause = 3 * time.Second
	began := time.Now()
	r.report(alarm(first, began.Add(time.Hour)))
	r.report(alarm(first, began.Add(pause)), intent(first, frames.IntentSleep))
	r.told(first, frames.StopRequested)
	r.report(failed(first, "requested"))
	second := r.take()
	waited := time.Since(began)
	p.check(waited >= pause && waited < pause+slack, "it goes on after %s, want %s", waited, pause)
	p.check(second.Attempt == 2, "it goes on as %+v", second)
	r.report(running(second.Token))
	r.keeps(second.Token, "a")
	r.report(alarm(second.Token, began), intent(second.Token, frames.IntentSleep), failed(second.Token, "sleeping"))
	third := r.begins()
	r.report(running(third), succeeded(third, "done"))
	p.result(p.started[0], "done")
}

// begins is the attempt that comes next, behind whatever is to stop.
func (r *scripted) begins() string {
	for {
		for _, c := range r.commands() {
			if start, is := c.Inner.(*frames.StartTask); is {
				return start.Token
			}
		}
	}
}

func sw02(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	token := r.take().Token
	r.report(running(token), intent(token, frames.IntentStop))
	r.told(token, frames.StopRequested)
	r.report(succeeded(token, "as it wanted"))
	p.result(p.started[0], "as it wanted")
}

func sw03(p *probe) {
	r := p.connect("a", 1)
	p.start("1")
	first := r.take().Token
	r.report(running(first), alarm(first, time.Now().Add(time.Hour)), &frames.SetAlarm{Token: first}, intent(first, frames.IntentSleep))
	r.told(first, frames.StopRequested)
	got := p.fails(p.started[0])
	p.check(got == "no_alarm", "it has failed with %q, want no_alarm", got)
}

// fails is the type of the error that a workflow has failed with.
func (p *probe) fails(id string) string {
	for end := time.Now().Add(patience); ; p.sleep(look) {
		w, err := p.options.API.Get(p.ctx, id)
		p.check(err == nil, "a workflow cannot be read: %v", err)
		if w.Failure != nil {
			return w.Failure.Error.Type
		}
		p.check(time.Now().Before(end), "%s is %s, want that it fails", id, w.Status)
	}
}
