package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// observe calls Options.Observe for each produce and fetch request before the broker
// serves it.
func (b *Broker) observe() {
	if b.opts.Observe == nil {
		return
	}
	for _, key := range []kmsg.Key{kmsg.Produce, kmsg.Fetch} {
		b.cluster.ControlKey(key.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
			b.cluster.KeepControl()
			b.opts.Observe(req)
			return nil, nil, false
		})
	}
}
