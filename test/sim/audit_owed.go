package sim

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/heddle-run/heddle/shared/events"
)

// owedSteps bounds the time in which all that journals promise has to come out,
// once everything else is at rest.
const owedSteps = 12_000

// settleOwed goes on until everything is out that journals promise.
func (au *audit) settleOwed() {
	if !au.until("everybody owns what it was given", au.owned) {
		return
	}
	for step := range owedSteps {
		if step%500 == 0 && len(au.owed()) == 0 {
			return
		}
		au.step++
		au.advance()
	}
	for _, o := range au.owed() {
		au.failAbout(ofPartition(o.partition), "partition %d, record %s: %s", o.partition, o.at, o.what)
	}
}

// owed is what a journal promises and what did not come out.
type owed struct {
	partition int32
	at        events.Position
	what      string
}

// owed is what journals promise and what is not out: a forwarded command that no
// record of its right partition decides or refuses for its age, and an input that was dead-lettered without
// a letter in the dlq. Where an input log has lost records nothing is known.
func (au *audit) owed() []owed {
	au.c.mu.Lock()
	defer au.c.mu.Unlock()
	all := au.allLawful()
	decided, failed := map[string]bool{}, map[string]bool{}
	written := make([]map[command]*kgo.Record, len(all))
	for p, records := range all {
		written[p] = au.commandsOf(int32(p))
		for _, rec := range records {
			decided[fmt.Sprintf("%d/%s/%s", p, rec.Workflow, rec.ID)] = rec.ID != ""
			if key, ok := au.tooOld(written[p], rec); ok {
				decided[key] = true
			}
			for _, e := range rec.Events {
				if f, ok := e.(*events.EffectFailed); ok {
					failed[at(p, events.Position{Epoch: f.Epoch, Seq: f.Seq})] = true
				}
			}
		}
	}
	letters := au.letters()
	open := append(au.owedNotices(all), au.owedByPools(all)...)
	for p, records := range all {
		for _, rec := range records {
			if failed[at(p, rec.Position)] || len(rec.Events) == 0 || rec.Input.Source != events.FromCommands && rec.Input.Source != events.FromInbox {
				continue
			}
			_, refused := rec.Events[0].(*events.CommandRefused)
			switch rec.Events[0].(type) {
			case *events.InputRejected, *events.WorkflowQuarantined, *events.CommandRefused:
				if refused && rec.ReplyTo.Address != "" {
					continue
				}
				if !letters[at(p, rec.Position)] {
					open = append(open, owed{int32(p), rec.Position, "its input has no letter in the dlq"})
				}
			case *events.InputForwarded:
				if k := written[p][commandOf(&rec.Input)]; k != nil && au.astray(k, decided) {
					open = append(open, owed{int32(p), rec.Position, fmt.Sprintf("the command %q of %s was forwarded, and nobody decides it", header(k, events.HeaderID), k.Key)})
				}
			}
		}
	}
	return open
}

// commandsOf are the commands that a log still has.
func (au *audit) commandsOf(p int32) map[command]*kgo.Record {
	all := map[command]*kgo.Record{}
	for _, k := range au.c.visible(place{au.c.names.Commands(), p}) {
		all[command{k.Offset, k.Timestamp.UnixMilli()}] = k
	}
	return all
}

// tooOld is what a command is known by that is refused for its age: it has no id in
// its record.
func (au *audit) tooOld(written map[command]*kgo.Record, rec *events.Record) (key string, ok bool) {
	if len(rec.Events) == 0 || rec.Input.Source != events.FromCommands {
		return "", false
	}
	e, refused := rec.Events[0].(*events.CommandRefused)
	k := written[commandOf(&rec.Input)]
	if !refused || e.Code != "expired" || k == nil {
		return "", false
	}
	_, key, bad := au.commandOf(k)
	return key, bad == nil
}

// astray reports whether a forwarded command is decided nowhere, though its right
// partition's log has lost nothing.
func (au *audit) astray(k *kgo.Record, decided map[string]bool) bool {
	right, key, bad := au.commandOf(k)
	if bad != nil {
		return false // it has a letter there
	}
	return !decided[key] && !au.thinned[place{au.c.names.Commands(), right}]
}

// commandOf is a command's right partition, and what it is known by there.
func (au *audit) commandOf(k *kgo.Record) (right int32, key string, bad *events.CommandError) {
	var headers []events.Header
	for _, h := range k.Headers {
		headers = append(headers, events.Header{Key: h.Key, Value: h.Value})
	}
	cmd, bad := events.ParseCommand(k.Key, headers, k.Value, fmt.Sprintf("%s/%d/%d@%d", k.Topic, k.Partition, k.Offset, k.Timestamp.UnixMilli()))
	if bad != nil {
		return 0, "", bad
	}
	right = au.partition(cmd.Workflow)
	return right, fmt.Sprintf("%d/%s/%s", right, cmd.Workflow, cmd.DedupeID()), nil
}

// letters are the records whose inputs are in the dlq.
func (au *audit) letters() map[string]bool {
	all := map[string]bool{}
	for p := range au.c.partitions {
		for _, k := range au.c.visible(place{au.c.names.DLQ(), p}) {
			var l struct {
				ID        string `json:"id"`
				Partition int    `json:"partition"`
			}
			if err := json.NewDecoder(bytes.NewReader(k.Value)).Decode(&l); err != nil {
				au.fail("a letter of the dlq: %w", err)
			}
			all[fmt.Sprintf("%d/%s", l.Partition, l.ID)] = true
		}
	}
	return all
}
