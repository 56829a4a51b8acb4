package loop

// Flaws break the protections of the protocol one by one, so that a simulation
// can show that it would notice. Only tests and test/sim set any
// (TestFlawsAreOfTestsOnly).
type Flaws struct {
	NoLedger           bool // a repeated command is decided again
	NoWindow           bool // a command that the ledger has forgotten is decided again
	EarlyEffects       bool // effects leave with the append of their record
	EarlyAnswers       bool // answers to queries leave at once, not behind the newest record (E6)
	UnreadAnswers      bool // queries are answered before commands are read to their end (E6)
	NewStamps          bool // a forwarded command is as young as its forward
	LenientReplay      bool // replay takes records that are void (J1)
	NoReadBack         bool // the takeover is not read back (O3)
	LateFence          bool // the state is restored before older owners are fenced off (O1)
	AnyStore           bool // a store is used again without proof (O4)
	UnfencedCheckpoint bool // who is fenced off fences back, and writes its checkpoint (C4)
	CommittedPositions bool // inputs are read from the committed offsets (J3)
	BlindCursor        bool // committed offsets are not held against checkpoint and journal
	NoRerelease        bool // what is not known to be out is not released again (E1)
	EarlyTasks         bool // tasks are published again before the inbox is read (E1, E3)
	NoTimers           bool // timers that were armed before a recovery do not fire
	ForgetDirty        bool // what a checkpoint was to write is clean, whatever became of it (C2)
	NoClock            bool // a clock is not compared with the broker's (J2)
	OneClock           bool // the clock of one broker counts, whatever the others say (J2)
	Clings             bool // a planner that cannot serve stays in its group
	HastyTimers        bool // timeouts do not wait for the inputs to be read (J5)
	NoLease            bool // an owner does not look whether its lease has run out (E5, O5)
	DecidedEnds        bool // queries wait for commands that no open transaction hides, only (E6)
	AnyEnds            bool // an input log may end below where it was read (E6)
	TrimmedIsOther     bool // an input log that is trimmed while it is looked at is another one
	OldTopics          bool // an input topic that was made anew is not taken for another one
	LateRenewal        bool // the lease counts as renewed, and rows as written, with a checkpoint's last part (C3)
	AlwaysPositions    bool // a checkpoint never goes without committed positions (C4)
	HastyTrims         bool // logs are trimmed to where they are read, whether a checkpoint has that or not
	YoungTrims         bool // logs are trimmed however new their records are
	LateEffects        bool // what is sent later does not look at the lease again (E5)
	NoBudget           bool // decisions may cost what they will (J4): who makes the machine obeys
	NoSuspects         bool // what ends the process is decided again for ever
	SilentLosses       bool // records of an input log that are gone unread are passed over without an operator's word
	OriginalsInMemory  bool // which inputs replay has to read again is no row: it ends with the reign (E1)
}
