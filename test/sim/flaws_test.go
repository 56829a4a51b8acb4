package sim

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heddle-run/heddle/internal/faults"
	"github.com/heddle-run/heddle/internal/partition/loop"
)

type flaw struct {
	name   string
	within uint64
	flaws  loop.Flaws
	kinds  []string  // of faults that show it; nil: all
	seen   [2]uint64 // seeds that showed it last, over the model and the broker: they are tried first
}

// flaws are the protections that are broken, one at a time, and within how many
// seeds a run must fail for it, over the model of Kafka as over the embedded broker.
// Where only some kinds of faults are named, others end most tenures before the flaw
// matters.
var flaws = []flaw{
	{"a ledger is not asked", 100, loop.Flaws{NoLedger: true}, nil, [2]uint64{14, 14}},
	{"what the ledger has forgotten is decided again", 200, loop.Flaws{NoWindow: true}, nil, [2]uint64{24, 8}},
	{"a forwarded command is as young as its forward", 40, loop.Flaws{NewStamps: true}, nil, [2]uint64{16, 24}},
	{"effects leave before their record counts", 100, loop.Flaws{EarlyEffects: true}, nil, [2]uint64{1, 1}},
	{"queries are answered at once", 10, loop.Flaws{EarlyAnswers: true}, nil, [2]uint64{2, 2}},
	{"queries are answered before commands are read", 40, loop.Flaws{UnreadAnswers: true}, nil, [2]uint64{6, 6}},
	{"void records are replayed", 200, loop.Flaws{LenientReplay: true}, nil, [2]uint64{15, 22}},
	{"a takeover is not read back", 20, loop.Flaws{NoReadBack: true}, []string{"coup", "move"}, [2]uint64{11, 20}},
	{"a state is restored before the fence", 200, loop.Flaws{LateFence: true}, []string{"move"}, [2]uint64{22, 18}},
	{"a stale store is used again", 40, loop.Flaws{AnyStore: true}, []string{"leave", "coup"}, [2]uint64{18, 9}},
	{"positions are taken from committed offsets", 100, loop.Flaws{CommittedPositions: true}, nil, [2]uint64{3, 3}},
	{"committed offsets that somebody has moved are obeyed", 40, loop.Flaws{CommittedPositions: true}, []string{"offsets", "move"}, [2]uint64{9, 1}},
	{"committed offsets are not looked at", 10, loop.Flaws{BlindCursor: true}, nil, [2]uint64{1, 1}},
	{"nothing is released again", 100, loop.Flaws{NoRerelease: true}, nil, [2]uint64{7, 9}},
	{"tasks are published again before the inbox is read", 40, loop.Flaws{EarlyTasks: true}, nil, [2]uint64{23, 12}},
	{"timers are forgotten at recovery", 100, loop.Flaws{NoTimers: true}, nil, [2]uint64{8, 15}},
	{"what is dirty is forgotten", 20, loop.Flaws{ForgetDirty: true}, []string{"move"}, [2]uint64{5, 5}},
	{"clocks are not compared", 60, loop.Flaws{NoClock: true}, []string{"skew", "leap", "move", "kill"}, [2]uint64{19, 11}},
	{"one broker's clock counts", 60, loop.Flaws{OneClock: true}, []string{wrongStamps}, [2]uint64{18, 0}},
	{"a planner that cannot serve keeps what it has", 60, loop.Flaws{Clings: true}, []string{lasting}, [2]uint64{3, 3}},
	{"timeouts do not wait for the inputs", 160, loop.Flaws{HastyTimers: true}, []string{"deaf", "freeze"}, [2]uint64{96, 96}},
	{"the lease is not looked at", 60, loop.Flaws{NoLease: true}, nil, [2]uint64{10, 10}},
	{"what is sent later does not look at the lease", 300, loop.Flaws{LateEffects: true}, []string{"effect", "freeze"}, [2]uint64{36, 36}},
	{"reads look no further than an open transaction", 60, loop.Flaws{DecidedEnds: true}, []string{"foreign"}, [2]uint64{4, 4}},
	{"an input log may end below where it was read", 500, loop.Flaws{AnyEnds: true}, []string{"remake", "deaf"}, [2]uint64{36, 36}},
	{"a log that is trimmed while it is looked at is another one", 60, loop.Flaws{TrimmedIsOther: true}, []string{retention, "move"}, [2]uint64{30, 4}},
	{"a topic that was made anew is not read", 10, loop.Flaws{OldTopics: true}, []string{"remake"}, [2]uint64{7, 6}},
	{"what ends the process is decided again", 9, loop.Flaws{NoSuspects: true}, []string{"stray"}, [2]uint64{6, 9}},
	{"what recovery has to read again is in memory alone", 60, loop.Flaws{OriginalsInMemory: true}, []string{"stray"}, [2]uint64{20, 20}},
	{"a checkpoint counts with its last part only", 60, loop.Flaws{LateRenewal: true}, []string{"move"}, [2]uint64{21, 21}},
	{"a checkpoint never goes without positions", 40, loop.Flaws{AlwaysPositions: true}, []string{absent}, [2]uint64{4, 3}},
	{"logs are trimmed to where they are read", 100, loop.Flaws{HastyTrims: true}, []string{"kill", "move", "wipe"}, [2]uint64{10, 5}},
	{"logs are trimmed of what is young", 20, loop.Flaws{YoungTrims: true}, nil, [2]uint64{1, 1}},
	{"losses are passed by without a word", 40, loop.Flaws{SilentLosses: true}, nil, [2]uint64{5, 5}},
	{"what is in hand is forgotten at recovery", 100, loop.Flaws{NoWork: true}, []string{"move", "kill"}, [2]uint64{10, 7}},
	{"a signal is taken by two", 20, loop.Flaws{SharedSignals: true}, nil, [2]uint64{8, 1}},
	{"a timer fires twice", 20, loop.Flaws{TwiceFired: true}, nil, [2]uint64{20, 17}},
	{"what has fallen back does so again", 20, loop.Flaws{TwiceFallen: true}, nil, [2]uint64{2, 2}},
	{"the outcome of an attempt in doubt arrives again", 100, loop.Flaws{TwiceArrived: true}, []string{"worker", "repeat"}, [2]uint64{17, 66}},
	{"an element is lost at a crash", 40, loop.Flaws{LostElements: true}, []string{"move", "kill"}, [2]uint64{35, 17}},
	{"an element is run twice", 40, loop.Flaws{TwiceElements: true}, nil, [2]uint64{4, 4}},
	{"a reduce folds out of order", 40, loop.Flaws{UnorderedFolds: true}, nil, [2]uint64{14, 12}},
	{"two values are folded into one state", 20, loop.Flaws{TwoFolds: true}, nil, [2]uint64{12, 12}},
	{"a state machine's step is made twice", 20, loop.Flaws{TwiceFolded: true}, nil, [2]uint64{9, 9}},
	{"what components are given alone is lost at a crash", 40, loop.Flaws{LostContexts: true}, []string{"move", "kill"}, [2]uint64{10, 10}},
	{"what is told of a drain is lost at a crash", 120, loop.Flaws{LostNotices: true}, []string{"move", "kill"}, [2]uint64{18, 18}},
	{"a permit is granted twice", 100, loop.Flaws{TwicePermits: true}, []string{"move", "kill"}, [2]uint64{4, 4}},
	{"a permit is never returned", 60, loop.Flaws{KeptPermits: true}, nil, [2]uint64{37, 35}},
	{"a rate is exceeded after a takeover", 100, loop.Flaws{NewRates: true}, []string{"move", "kill"}, [2]uint64{9, 9}},
	{"a breaker lets two try", 60, loop.Flaws{TwoProbes: true}, nil, [2]uint64{7, 7}},
	{"a failure that is told twice counts twice", 60, loop.Flaws{TwiceJudged: true}, nil, [2]uint64{7, 7}},
	{"a breaker that is open is closed after a takeover", 200, loop.Flaws{NewBreakers: true}, []string{"move", "kill"}, [2]uint64{14, 12}},
	{"a notice comes again under another id", 40, loop.Flaws{RenamedNotices: true}, nil, [2]uint64{20, 10}},
	{"an attempt that has begun is waited for", 100, loop.Flaws{UnheardBegins: true}, nil, [2]uint64{51, 51}},
	{"each attempt has an idempotency key of its own", 40, loop.Flaws{OtherKeys: true}, nil, [2]uint64{1, 1}},
	{"no timer ends an attempt that is silent", 40, loop.Flaws{EndlessSilence: true}, nil, [2]uint64{4, 4}},
	{"a task is silent that gives heartbeats", 40, loop.Flaws{UnheardBeats: true}, nil, [2]uint64{18, 2}},
	{"no record says until when a runnable must have ended", 40, loop.Flaws{UndatedEnds: true}, nil, [2]uint64{14, 19}},
	{"an archive forgets what it has acknowledged", 40, loop.Flaws{ForgetfulArchive: true}, nil, [2]uint64{4, 4}},
	{"a slot of a runner is freed twice", 100, loop.Flaws{FreedSlots: true}, nil, [2]uint64{44, 4}},
	{"two sockets of one runner are served", 200, loop.Flaws{TwoSockets: true}, []string{troubles}, [2]uint64{113, 167}},
	{"a task is started twice after an executor's death", 200, loop.Flaws{BegunAgain: true}, []string{troubles}, [2]uint64{63, 63}},
	{"commands that a runner has missed are skipped", 200, loop.Flaws{MissedCommands: true}, []string{troubles, "kill", "move"}, [2]uint64{118, 53}},
	{"events of a runner count twice", 400, loop.Flaws{RecountedEvents: true}, nil, [2]uint64{161, 113}},
	{"no pool is asked for an attempt", 600, loop.Flaws{UnaskedPools: true}, nil, [2]uint64{518, 518}},
	{"decisions have no budget", 8, loop.Flaws{NoBudget: true}, nil, [2]uint64{4, 4}},
	{"checkpoints are not fenced", 40, loop.Flaws{UnfencedCheckpoint: true}, []string{"coup", "wipe", "move"}, [2]uint64{22, 12}},
}

// This shows that the checkers can fail.
func TestEveryFlawIsNoticed(t *testing.T) { noticed(t, 0, options) }

func TestEveryFlawIsNoticedOverTheEmbeddedBroker(t *testing.T) { noticed(t, 1, onBroker) }

func noticed(t *testing.T, over int, options func(uint64) Options) {
	if !faults.Built {
		t.Fatal("this program has no flaws to notice: test it with -tags synctests, as `make test` does")
	}
	sound := &soundRuns{}
	for _, f := range flaws {
		if over == 1 && slices.Contains(f.kinds, wrongStamps) {
			continue // the embedded broker is alone
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if *cheapest > 0 {
				f.tellCheapest(t, options)
				return
			}
			for n := uint64(0); n <= f.within; n++ {
				seed := cmp.Or(n, f.seen[over])
				if r := Run(f.options(seed, options)); r.Err != nil {
					if err := sound.err(f.options(seed, options)); err != nil {
						t.Errorf("seed %d fails without the flaw: %v", seed, err)
					}
					t.Logf("noticed with seed %d: %.300v", seed, r.Err)
					return
				}
			}
			t.Errorf("not noticed within %d seeds", f.within)
		})
	}
}

// options of a run that is to show the flaw.
func (f flaw) options(seed uint64, options func(uint64) Options) Options {
	o := options(seed)
	o.Flaws, o.Kinds = f.flaws, f.kinds
	if f.kinds != nil {
		o.Steps *= 2
	}
	return o
}

// soundRuns are runs without a flaw. Those of the flaws that the same seed shows, under
// the same faults, are one and the same.
type soundRuns struct{ runs sync.Map }

func (s *soundRuns) err(o Options) error {
	o.Flaws = loop.Flaws{}
	run, _ := s.runs.LoadOrStore(fmt.Sprint(o.Seed, o.Kinds), sync.OnceValue(func() error { return Run(o).Err }))
	return run.(func() error)()
}

// tellCheapest tells which seeds show the flaw soonest: what else a plan has moves them.
func (f flaw) tellCheapest(t *testing.T, options func(uint64) Options) {
	type run struct {
		seed uint64
		took time.Duration
	}
	var shown []run
	for seed := uint64(1); seed <= min(f.within, *cheapest); seed++ {
		began := time.Now()
		if r := Run(f.options(seed, options)); r.Err != nil {
			shown = append(shown, run{seed, time.Since(began).Round(time.Millisecond)})
		}
	}
	slices.SortFunc(shown, func(a, b run) int { return cmp.Compare(a.took, b.took) })
	t.Logf("shown soonest by %v", shown[:min(len(shown), 4)])
}
