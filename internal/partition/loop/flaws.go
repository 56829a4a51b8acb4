package loop

import "github.com/heddle-run/heddle/internal/faults"

// Flaw is one of the Flaws. Code that has it asks On.
type Flaw bool

// On reports whether the flaw is there: never in a program that is built without faults.
func (f Flaw) On() bool { return faults.Built && bool(f) }

// Flaws break the protections of the protocol one by one, so that a simulation
// can show that it would notice. Only tests and test/sim set any
// (TestFlawsAreOfTestsOnly).
type Flaws struct {
	NoLedger           Flaw // a repeated command is decided again
	NoWindow           Flaw // a command that the ledger has forgotten is decided again
	EarlyEffects       Flaw // effects leave with the append of their record
	EarlyAnswers       Flaw // answers to queries leave at once, not behind the newest record
	UnreadAnswers      Flaw // queries are answered before commands are read to their end
	NewStamps          Flaw // a forwarded command is as young as its forward
	LenientReplay      Flaw // replay takes records that are void
	NoReadBack         Flaw // the takeover is not read back
	LateFence          Flaw // the state is restored before older owners are fenced off
	AnyStore           Flaw // a store is used again without proof
	UnfencedCheckpoint Flaw // an owner that is fenced off fences back, and writes its checkpoint
	CommittedPositions Flaw // inputs are read from the committed offsets
	BlindCursor        Flaw // committed offsets are not held against checkpoint and journal
	NoRerelease        Flaw // what is not known to be out is not released again
	EarlyTasks         Flaw // tasks are published again before the inbox is read
	NoTimers           Flaw // timers that were armed before a recovery do not fire
	ForgetDirty        Flaw // what a checkpoint was to write is clean, whatever became of it
	NoClock            Flaw // a clock is not compared with the broker's
	OneClock           Flaw // the clock of one broker counts, whatever the others say
	Clings             Flaw // a planner that cannot serve stays in its group
	HastyTimers        Flaw // timeouts do not wait for the inputs to be read
	NoLease            Flaw // an owner does not look whether its lease has run out
	DecidedEnds        Flaw // queries wait for commands that no open transaction hides, only
	AnyEnds            Flaw // an input log may end below where it was read
	TrimmedIsOther     Flaw // an input log that is trimmed while it is looked at is another one
	OldTopics          Flaw // an input topic that was made anew is not taken for another one
	LateRenewal        Flaw // the lease counts as renewed, and rows as written, with a checkpoint's last part
	AlwaysPositions    Flaw // a checkpoint never goes without committed positions
	HastyTrims         Flaw // logs are trimmed to where they are read, whether a checkpoint has that or not
	YoungTrims         Flaw // logs are trimmed however new their records are
	LateEffects        Flaw // what is sent later does not look at the lease again
	NoBudget           Flaw // decisions may cost what they will: the maker of the machine obeys
	SharedSignals      Flaw // a signal that was kept can be taken again: the maker of the machine obeys
	TwiceFired         Flaw // a timer that has fired fires again: the maker of the machine obeys
	TwiceFallen        Flaw // what has fallen back can do so again: the maker of the machine obeys
	TwiceArrived       Flaw // the outcome of an attempt in doubt can arrive again: the maker of the machine obeys
	LostElements       Flaw // of a list that is replayed the last element is lost: the maker of the machine obeys
	TwiceElements      Flaw // an element is opened twice: the maker of the machine obeys
	UnorderedFolds     Flaw // results that wait for their turn change places: the maker of the machine obeys
	TwoFolds           Flaw // two values are folded into one state: the maker of the machine obeys
	TwiceFolded        Flaw // a state machine's step is made twice: the maker of the machine obeys
	LostContexts       Flaw // what a start gives components alone is lost when it is replayed: the maker of the machine obeys
	LostNotices        Flaw // what is told of a drain is lost at a crash: the maker of the machine obeys
	TwicePermits       Flaw // a key forgets at a recovery that it has granted a permit: the maker of the machine obeys
	KeptPermits        Flaw // permits of attempts that did not complete are not given back: the maker of the machine obeys
	NewRates           Flaw // a rate forgets at a recovery when it has granted its permits: the maker of the machine obeys
	TwoProbes          Flaw // a breaker that is half open lets two try: the maker of the machine obeys
	TwiceJudged        Flaw // a breaker counts a failure that is told twice as two: the maker of the machine obeys
	NewBreakers        Flaw // a breaker forgets at a recovery that it is open: the maker of the machine obeys
	RenamedNotices     Flaw // each attempt to deliver a notice has an id of its own: the maker of the machine obeys
	UnheardBegins      Flaw // that a worker has begun an attempt ends no wait for one: the maker of the machine obeys
	OtherKeys          Flaw // each attempt of a runnable has an idempotency key of its own: the maker of the machine obeys
	EndlessSilence     Flaw // no timer ends an attempt that is silent: the maker of the machine obeys
	UnheardBeats       Flaw // a heartbeat does not move the timer of the next one: the maker of the machine obeys
	UndatedEnds        Flaw // no record says until when a runnable must have ended: the maker of the machine obeys
	ForgetfulArchive   Flaw // the archive's store forgets what it has acknowledged: its maker obeys
	FreedSlots         Flaw // a pool frees a slot twice: the maker of the machine obeys, as of the next four
	TwoSockets         Flaw // two sockets of one runner are served
	BegunAgain         Flaw // a process that remembers nothing gets what the one before it had begun
	MissedCommands     Flaw // what a runner has missed is not sent when it comes back
	RecountedEvents    Flaw // events of a runner that have counted count again
	UnaskedPools       Flaw // no pool is asked whether it has an attempt
	NoSuspects         Flaw // what ends the process is decided again for ever
	SilentLosses       Flaw // records of an input log that are gone unread are passed over without an operator's word
	NoWork             Flaw // what decisions have left in hand ends with the tenure
	OriginalsInMemory  Flaw // which inputs replay has to read again is no row: it ends with the tenure
}
