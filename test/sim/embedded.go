package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/heddle-run/heddle/internal/broker"
	"github.com/heddle-run/heddle/internal/kafka/topics"
	"github.com/heddle-run/heddle/test/sim/workload"
)

// embedded are brokers of the real kind: the embedded broker in memory, asked over
// one connection. It answers before the scheduler goes on, and does nothing in
// between but what virtual time tells it to: it ends transactions that are
// overdue, and keeps house. So the same seed gives the same history.
//
// Its random topic ids are not shown to anybody (cluster.topic makes other ones),
// and it stamps no records by itself: clients do, by the same clock.
type embedded struct {
	broker  *broker.Broker
	conn    *conn
	topics  map[string]*topic
	desired []topics.Topic
	fail    func(format string, args ...any)

	known  map[offsetsOf][]int64      // as long as nothing has changed them
	groups map[string]map[place]int64 // committed offsets, likewise
	began  map[string]time.Time       // transactions that are open, unless the broker has ended them
	kept   time.Time                  // when the broker may have kept house last
}

// offsetsOf is what may be known of a topic.
type offsetsOf struct {
	topic string
	which which
}

// startEmbedded starts a broker with topics as topics.yaml wants them. What the
// broker should never answer fails the run.
func startEmbedded(names topics.Names, all map[string]*topic, fail func(string, ...any)) *embedded {
	network := new(broker.Network)
	// A simulated day passes between two requests of one connection.
	limits := broker.Limits{Idle: 365 * 24 * time.Hour}
	b, err := broker.Start(context.Background(), broker.Options{Network: network, Limits: limits})
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
	c, err := network.DialContext(context.Background(), "tcp", b.Addr())
	if err != nil {
		panic(fmt.Sprintf("sim: reaching the embedded broker: %v", err))
	}
	e := &embedded{broker: b, conn: newConn(c), topics: all, fail: fail, began: map[string]time.Time{}}
	e.forget()
	e.createTopics(names)
	return e
}

// createTopics makes the topics with the settings of topics.yaml.
func (e *embedded) createTopics(names topics.Names) {
	set, err := topics.Default().Set(topics.Options{Prefix: names.Prefix(), Queues: queues})
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
	e.desired = append(set.Desired(), topics.Topic{Name: workload.NoticesTopic})
	if n := e.create(e.topics); n != len(e.topics) {
		panic(fmt.Sprintf("sim: topics.yaml has %d of %d topics", n, len(e.topics)))
	}
}

// create makes some topics and says how many of them topics.yaml knows.
func (e *embedded) create(some map[string]*topic) int {
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, want := range e.desired {
		have := some[want.Name]
		if have == nil {
			continue
		}
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = want.Name, have.partitions, 1
		for _, name := range sortedKeys(want.Configs) {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = name, kmsg.StringPtr(want.Configs[name])
			t.Configs = append(t.Configs, c)
		}
		req.Topics = append(req.Topics, t)
	}
	for _, t := range ask[kmsg.CreateTopicsResponse](e, req).Topics {
		e.expect("creating "+t.Topic, kerr.ErrorForCode(t.ErrorCode))
	}
	return len(req.Topics)
}

// remake implements brokers.
func (e *embedded) remake(t *topic) {
	e.forget()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TopicNames = []string{t.name}
	for _, t := range ask[kmsg.DeleteTopicsResponse](e, req).Topics {
		e.expect("deleting a topic", kerr.ErrorForCode(t.ErrorCode))
	}
	e.create(map[string]*topic{t.name: t})
}

// ask asks for an answer that has to come.
func ask[R any, P interface {
	*R
	kmsg.Response
}](e *embedded, req kmsg.Request) P {
	resp, err := e.conn.ask(req)
	if err != nil {
		panic(fmt.Sprintf("sim: %v", err))
	}
	return resp.(P)
}

// expect fails the run with an answer that should never be.
func (e *embedded) expect(what string, err error) {
	if err != nil {
		e.fail("the embedded broker: %s: %w", what, err)
	}
}

// forget forgets all that was known.
func (e *embedded) forget() {
	e.known, e.groups = map[offsetsOf][]int64{}, map[string]map[place]int64{}
}

// grew forgets where a log that was written to ends.
func (e *embedded) grew(topic string) {
	delete(e.known, offsetsOf{topic, ends})
	delete(e.known, offsetsOf{topic, stable})
}

// houseKeeping is how often the broker removes what is too old, at most.
const houseKeeping = 10 * time.Second

// overdue implements brokers: the broker does by itself what is due, and what was
// known before is then not so any more.
func (e *embedded) overdue(now time.Time) {
	if now.Sub(e.kept) >= houseKeeping {
		e.kept = now
		e.forget()
	}
	for id, began := range e.began {
		if now.Sub(began) >= txnTimeout {
			delete(e.began, id)
			e.forget()
		}
	}
}

// close ends the broker.
func (e *embedded) close() {
	e.expect("closing the connection", e.conn.net.Close())
	settle() // a Kafka client closes in a bubble at rest
	e.expect("closing it", e.broker.Close())
}
