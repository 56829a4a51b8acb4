/*
 * The hand-over of a planner partition: epochs, lease, fencing, checkpoint.
 * README.md says what is modelled, what the properties are, and what is left out;
 * ./check runs the model and its mutations. Letters (J1, O2, ...) are laws of the
 * partition log, as in docs/protocol.md.
 *
 * A tenure is what begins with a fence and ends with a fault, a crash or a
 * goodbye; tenure r has the transactional id's producer epoch r. A planner is a
 * process with a store. Every step of a planner is atomic; between any two steps
 * anything else may happen, and whatever a planner has sent may arrive later.
 */

/* Bounds. */
#ifndef PLANNERS
#define PLANNERS 2
#endif
#ifndef TENURES
#define TENURES 3 /* fences before the calm */
#endif
#ifndef WORK
#define WORK 1 /* inputs that one tenure decides */
#endif
#ifndef RENEWALS
#define RENEWALS 1 /* checkpoints of one tenure that may count */
#endif
#ifdef CALM
#define FENCES (TENURES + 1)
#else
#define FENCES TENURES
#endif
#define LOG (FENCES * (WORK + 2)) /* takeover, inputs, goodbye; at most 15 */
#define IDS (FENCES + 1)          /* tenures count from 1 */

#define BIT(o) (1 << (o))
#define UPTO(o) ((1 << ((o) + 1)) - 1)

/* Phases of a planner. */
#define IDLE 0
#define LOADED 1  /* in RESTORE_BEFORE_FENCE only: not fenced yet */
#define WAITING 2 /* fenced others off, loaded the state, waits for the lease */
#define OPENED 3  /* the takeover is appended, its transaction is open */
#define SERVING 4

/* States of a checkpoint. */
#define NONE 0
#define SENT 1
#define DONE 2    /* the broker has committed it */
#define REFUSED 3 /* PRODUCER_FENCED */

/* The broker: the journal. An entry is 8 * tenure + seq; seq 0 is a takeover. */
byte log[LOG];
byte size;
byte fence;               /* newest producer epoch of the transactional id */
byte open;                /* tenure whose transaction is open; 0: none */
bit took[IDS];            /* its takeover is committed */
byte epoch[IDS];          /* that the tenure claims; its takeover replaces the one before */
byte base[IDS];           /* number of its first input */
byte sent[IDS];           /* records it has sent after the takeover */
byte landed[IDS];         /* how many of these have an outcome */
byte lost[IDS];           /* bit s: the record with seq s was not written */
byte bye[IDS];            /* seq of AuthorityReleased; 0: none */
byte stale[IDS];          /* seq of AuthorityMarkedStale, an operator's command; 0: none */
byte host[IDS];           /* planner of the tenure */

/* The broker: changelog, committed offsets, authority. */
short logRows;            /* workflow rows: the inputs whose changes are in them */
short logKeys;            /* partition keys: the records that are in them */
byte logFrom;             /* replay-from: the first offset to replay */
byte position;            /* committed offset of the inputs */
byte authTenure, authTerm; /* the lease as published */

/* Time: terms of a tenure's lease that have run out. The takeover grants the
 * first, each renewal one more. An owner's margin and the bounded difference of
 * clocks make that the owner sees the end of a term no later than others do. */
byte ended[IDS];

/* What is true, by the void rule over the whole log; nobody reads it but the
 * properties. */
short law;                /* lawful records, by offset */
byte sure;                /* the log is decided below this offset */
byte nowEpoch, nowSeq, nowTenure, inputs;

/* Planners. */
typedef Planner {
	byte phase, tenure;
	/* the state: workflow rows and partition keys, and where the journal is read to */
	short rows, keys;
	short clean;          /* rows that are known to be in the changelog (C2) */
	byte place, e, s;     /* the filter: epoch and seq of the last lawful record */
	byte holder;          /* tenure that holds the lease by the journal; 0: free */
	bit marked;           /* the lease is marked stale */
	byte until;           /* last term published, if the holder's */
	byte known;           /* serving: the last term that the owner counts on */
	byte settled;         /* records whose acknowledgement is taken */
	byte check;
	short due;            /* rows that the checkpoint under way writes */
	byte from;            /* and its replay-from */
	/* the store on disk */
	short diskRows, diskKeys, diskClean;
	byte diskCheck;       /* mark of the last checkpoint: its keys are below this offset */
};
Planner pl[PLANNERS];
byte begun;               /* planners that have ever claimed: they are alike */
bit calm;                 /* no more faults */

hidden byte n, r, q, o, to;
hidden short m;

#ifdef TURNS
#define TURN(i) (fence % PLANNERS == i)
#else
#define TURN(i) (i <= begun) /* planners are alike until they have claimed */
#endif

#define me pl[i]
#ifdef PARTIAL
#define CLEAN(set) (set)
#else
#define CLEAN(set) 0 /* all rows go into every checkpoint */
#endif
#ifdef NO_MARGIN
#define LEASED(p) (pl[p].tenure != 0)
#else
#define LEASED(p) (pl[p].known >= ended[pl[p].tenure])
#endif
#define OWNS(p) (pl[p].phase == SERVING && LEASED(p))
/* The last term that a tenure was granted. */
#define GRANTED(x) (authTenure == x -> authTerm : 0)

#define OPEN_AT(o) (open && log[o] == 8 * open)

/* Where readers of committed records stop: at an open transaction. */
inline stable(end) {
	end = 0;
	do
	:: end < size && !OPEN_AT(end) -> end++
	:: else -> break
	od
}

/* truth carries the void rule on, and holds what it finds against the properties. */
inline truth() {
	d_step {
		stable(to);
		do
		:: sure < to ->
			r = log[sure] / 8; q = log[sure] % 8;
			if
			:: q == 0 && took[r] && epoch[r] == nowEpoch + 1 ->
				nowEpoch = epoch[r]; nowSeq = 0; nowTenure = r;
				law = law | BIT(sure);
				/* E5: the next owner finds nobody who still releases effects. */
				n = 0;
				do
				:: n < PLANNERS ->
					assert(n == host[r] || !OWNS(n));
					n++
				:: else -> break
				od
			:: q > 0 && epoch[r] == nowEpoch && q == nowSeq + 1 ->
				nowSeq = q;
				law = law | BIT(sure);
				/* O1: what counts was written by the tenure that took over. */
				assert(r == nowTenure);
				if
				:: q != bye[r] ->
					inputs++;
					/* J3: inputs are decided in order, once each. */
					assert(base[r] + q - 1 == inputs)
				:: else
				fi
			:: else
			fi;
			sure++
		:: else -> break
		od;
		n = 0; r = 0; q = 0; to = 0
	}
}

/* fold applies the record at offset o of tenure r and seq q: lease and state. */
inline fold() {
	if
	:: q == 0 -> me.holder = r; me.marked = 0
	:: q > 0 && q == bye[r] -> me.holder = 0; me.marked = 0
	:: q > 0 && q != bye[r] ->
		me.rows = me.rows | BIT(o);
		me.marked = me.marked | (q == stale[r])
	fi;
	me.keys = me.keys | BIT(o)
}

#ifdef IGNORE_EPOCHS
#define LAWFUL_TAKEOVER true
#define LAWFUL_RECORD true
#else
#define LAWFUL_TAKEOVER (epoch[r] == me.e + 1)
#define LAWFUL_RECORD (epoch[r] == me.e && q == me.s + 1)
#endif

/* replay reads the journal with the void rule, up to the offset end. */
inline replay(end) {
	o = me.place;
	do
	:: o < end ->
		r = log[o] / 8; q = log[o] % 8;
		if
		:: q == 0 && took[r] && LAWFUL_TAKEOVER -> me.e = epoch[r]; me.s = 0; fold()
		:: q > 0 && LAWFUL_RECORD -> me.s = q; fold()
		:: else
		fi;
		o++
	:: else -> break
	od;
	me.place = o;
	o = 0; r = 0; q = 0
}

/* recall takes filter and lease from the partition's keys below the offset end. */
inline recall(end) {
	o = 0;
	do
	:: o < end ->
		if
		:: me.keys & BIT(o) ->
			r = log[o] / 8; q = log[o] % 8;
			me.e = epoch[r]; me.s = q;
			if
			:: q == 0 -> me.holder = r; me.marked = 0
			:: q > 0 && q == bye[r] -> me.holder = 0; me.marked = 0
			:: q > 0 && q != bye[r] -> me.marked = me.marked | (q == stale[r])
			fi
		:: else
		fi;
		o++
	:: else -> break
	od;
	me.place = end;
	o = 0; r = 0; q = 0
}

/* top is the offset behind the highest one in a set. */
inline top(set, end) {
	end = LOG;
	do
	:: end > 0 && !(set & BIT(end - 1)) -> end--
	:: else -> break
	od
}

/* count is how many inputs are in a set of records. */
inline count(set, result) {
	result = 0; o = 0;
	do
	:: o < size ->
		if
		:: (set & BIT(o)) && log[o] % 8 && log[o] % 8 != bye[log[o] / 8] -> result++
		:: else
		fi;
		o++
	:: else -> break
	od;
	o = 0
}

/* write brings the store up to the state in memory. */
inline write() {
	me.diskRows = me.rows; me.diskKeys = me.keys; me.diskClean = me.clean
}

/* wipe forgets what a tenure has in memory. What it has sent stays on its way. */
inline wipe() {
	me.phase = IDLE; me.tenure = 0; me.rows = 0; me.keys = 0; me.clean = 0;
	me.place = 0; me.e = 0; me.s = 0; me.holder = 0; me.marked = 0; me.until = 0;
	me.known = 0; me.settled = 0; me.check = NONE; me.due = 0; me.from = 0
}

/* forget drops what no longer matters of a tenure that has ended. */
inline forget(x) {
	lost[x] = 0;
	if
	:: landed[x] == sent[x] -> landed[x] = 0; sent[x] = 0
	:: else
	fi
}

inline discard() { me.diskRows = 0; me.diskKeys = 0; me.diskClean = 0; me.diskCheck = 0 }

/* ends ends a tenure in order. How much is in the store by then is decided here:
 * nobody else reads it, so that it may be decided late. */
inline ends() {
#ifdef STORE
	if
	:: me.phase >= LOADED && me.diskKeys != me.keys -> write()
	:: skip
	fi;
#endif
	d_step {
		forget(me.tenure); wipe();
#ifndef STORE
		discard()
#endif
	}
}

/* abort ends the open transaction, if there is one: its record is passed over. */
inline abort() {
	d_step {
		if
		:: open ->
			epoch[open] = 0;
			n = 0;
			do
			:: log[n] != 8 * open -> n++
			:: else -> break
			od;
			log[n] = 0;
			if
			:: n == size - 1 -> size--
			:: else
			fi;
			n = 0; open = 0
		:: else
		fi
	}
	truth()
}

/* fenceOff is InitProducerID: it ends what an older tenure left open (O1). */
inline fenceOff() {
	fence++;
	me.tenure = fence;
	host[fence] = i;
	abort()
}

/* load opens the store if it is proven (O4), else restores the changelog, and
 * replays the journal to its end. */
inline load() {
	d_step {
		stable(to);
		if
		:: me.diskKeys ->
			top(me.diskKeys, n);
#ifdef REUSE_STALE_STORE
			m = 0;
#else
			/* What follows the last checkpoint must be what the journal says. */
			m = (law ^ me.diskKeys) & UPTO(n - 1) & ~(BIT(me.diskCheck) - 1);
			/* A checkpoint that is known to be committed needs no proof. */
			assert(((law ^ me.diskKeys) & (BIT(me.diskCheck) - 1)) == 0);
#endif
			if
			:: m || n > to -> discard()
			:: else -> me.rows = me.diskRows; me.keys = me.diskKeys; me.clean = me.diskClean; recall(n)
			fi
		:: else
		fi;
		if
		:: me.diskKeys
		:: else ->
			me.rows = logRows; me.keys = logKeys; me.clean = CLEAN(logRows);
			recall(logFrom);
			top(logKeys, me.diskCheck)
		fi;
		stable(to);
		replay(to);
		write();
		n = 0; m = 0; to = 0
	}
}

/* lookUp reads the lease as it was published. */
inline lookUp() {
	d_step {
		if
		:: me.holder && me.holder == authTenure -> me.until = authTerm
		:: else -> me.until = 0
		fi
	}
}

/* lookout replays what another owner has written meanwhile. */
inline lookout() {
	d_step {
		n = me.holder; m = me.marked;
		stable(to);
		replay(to);
		if
		:: n != me.holder -> me.until = 0
#ifdef STALE_MARK_SHORTENS
		:: n == me.holder && m != me.marked -> me.until = 0
#endif
		:: else
		fi;
		n = 0; m = 0; to = 0
	}
}

#if defined(NO_LEASE_WAIT)
#define FREE true
#elif defined(WAIT_FOR_RELEASE)
#define FREE (!me.holder || host[me.holder] == i)
#else
/* One's own older tenure is over: an instance that never runs twice (O2). */
#define FREE (!me.holder || host[me.holder] == i || ended[me.holder] > me.until)
#endif

inline append(entry) { log[size] = entry; size++ }

/* readBack reads up to the own takeover record (O3). */
inline readBack() {
	d_step {
		n = 0;
		do
		:: log[n] != 8 * me.tenure -> n++
		:: else -> break
		od;
#ifdef NO_READ_BACK
		me.e = epoch[me.tenure]; me.s = 0; me.holder = me.tenure;
		me.keys = me.keys | BIT(n); me.place = n + 1;
#else
		if
		:: me.place < n + 1 -> replay(n + 1)
		:: else
		fi;
#endif
		m = 0
	}
}

/* began holds a new owner against the properties. n is the offset of its takeover. */
inline began() {
	d_step {
		/* O1: at most one lawful owner per epoch. */
		r = 0;
		do
		:: r < PLANNERS ->
			assert(r == i || pl[r].phase < SERVING || epoch[pl[r].tenure] != epoch[me.tenure]);
			r++
		:: else -> break
		od;
		/* O3: the state has every lawful record and nothing else. */
		assert(me.keys == (law & UPTO(n)));
		o = 0;
		do
		:: o <= n ->
			assert((me.rows & BIT(o)) == ((me.keys & BIT(o)) && log[o] % 8 && log[o] % 8 != bye[log[o] / 8] -> BIT(o) : 0));
			o++
		:: else -> break
		od;
		r = 0
	}
}

/* rowsOf is the inputs of a set that are of the workflow w. */
inline rowsOf(set, w) {
	m = 0; o = 0;
	do
	:: o < size ->
		if
		:: set & BIT(o) ->
			if
			:: (base[log[o] / 8] + log[o] % 8) % 2 == w -> m = m | BIT(o)
			:: else
			fi
		:: else
		fi;
		o++
	:: else -> break
	od;
	o = 0
}

/* succeed goes on behind the commit of the takeover. What is read back cannot
 * change any more, so that no step of others needs to come between. */
inline succeed() {
	readBack();
	if
	:: me.e == epoch[me.tenure] && me.s == 0 && me.holder == me.tenure ->
		began(); o = 0; n = 0;
		write();
		me.phase = SERVING; me.until = 0; me.marked = 0;
#ifdef POSITIONS_FROM_OFFSETS
		base[me.tenure] = position + 1
#else
		d_step { count(me.keys, n); base[me.tenure] = n + 1; n = 0 }
#endif
	:: else -> n = 0; ends()
	fi
}

proctype planner(byte i) {
end:	do
	/* --- claiming ------------------------------------------------------- */
#ifdef RESTORE_BEFORE_FENCE
	:: atomic { me.phase == IDLE && fence < TENURES && !calm && TURN(i) ->
		if
		:: i == begun -> begun++
		:: else
		fi;
		load(); lookUp(); me.phase = LOADED }
	:: atomic { me.phase == LOADED && fence < TENURES -> fenceOff(); me.phase = WAITING }
#else
	:: atomic { me.phase == IDLE && fence < TENURES && !calm && TURN(i) ->
		if
		:: i == begun -> begun++
		:: else
		fi;
		fenceOff(); load(); lookUp(); me.phase = WAITING }
#ifdef CALM
	:: atomic { me.phase == IDLE && calm && i == 0 ->
		/* Liveness: after the last fault one more tenure is enough. */
		assert(fence < FENCES);
		fenceOff(); load(); lookUp(); me.phase = WAITING }
#endif
#endif
	:: atomic { me.phase == WAITING && me.place < size && !OPEN_AT(me.place) -> lookout() }
	:: atomic { me.phase == WAITING && FREE ->
		epoch[me.tenure] = me.e + 1;
#ifdef NO_FENCED_TAKEOVER
		append(8 * me.tenure); took[me.tenure] = 1; truth(); succeed()
#else
		if
		:: me.tenure == fence -> append(8 * me.tenure); open = me.tenure; me.phase = OPENED
		:: else -> epoch[me.tenure] = 0; ends()
		fi
#endif
	}
	:: atomic { me.phase == OPENED ->
		if
		:: me.tenure == fence && open == me.tenure ->
			took[me.tenure] = 1; open = 0; truth(); succeed()
		:: else -> ends()
		fi }

	/* --- serving -------------------------------------------------------- */
	:: atomic { me.phase == SERVING && me.check != REFUSED && sent[me.tenure] < WORK ->
		sent[me.tenure]++;
#ifdef MARKS
		if
		:: stale[me.tenure] == 0 -> stale[me.tenure] = sent[me.tenure]
		:: skip
		fi
#endif
	}
	:: atomic { me.phase == SERVING && me.settled < landed[me.tenure] ->
		me.settled++;
		if
		:: lost[me.tenure] & BIT(me.settled) -> /* J1: a failed append ends the tenure */
#ifndef NO_POISON
			ends()
#endif
		:: else ->
			d_step {
				o = 0;
				do
				:: log[o] != 8 * me.tenure + me.settled -> o++
				:: else -> break
				od;
				me.keys = me.keys | BIT(o);
				me.rows = me.rows | BIT(o);
				/* E5, J1: effects are released of lawful records only. */
				assert(!LEASED(i) || (law & BIT(o)));
				o = 0
			}
		fi }
	:: atomic { me.phase == SERVING && me.check == NONE && me.known < RENEWALS ->
		write(); /* the snapshot is of the store */
		d_step {
			me.due = me.rows & ~me.clean; /* of a workflow that is clean nothing is due */
			top(me.keys, me.from)
		}
#ifdef PARTIAL
		/* One of the two workflows may not be due: it stays dirty, and replay
		 * begins no later than its first record (C1). */
		if
		:: q = 2
		:: q = 0
		:: q = 1
		fi;
		d_step {
			if
			:: q < 2 ->
				rowsOf(me.due, q);
				me.due = me.due & ~m;
				o = 0;
				do
				:: o < me.from && !(m & BIT(o)) -> o++
				:: else -> break
				od;
#ifndef ONE_MARK
				me.from = o;
#endif
				o = 0; m = 0
			:: else
			fi;
			q = 0
		}
#endif
#ifdef CLEAN_EARLY
		me.clean = me.clean | CLEAN(me.due);
#endif
		me.check = SENT }
	:: atomic { me.check == SENT ->
		if
#ifdef CHECKPOINT_WITHOUT_FENCE
		:: true ->
#else
		:: me.tenure == fence ->
#endif
			d_step {
				logRows = logRows | me.due; logKeys = me.diskKeys; logFrom = me.from;
				/* O1, O5: the lease is renewed by nobody but the newest claimant. */
#ifndef CHECKPOINT_WITHOUT_FENCE
				assert(me.tenure == fence);
#endif
				authTenure = me.tenure; authTerm = me.known + 1;
				/* O1, C1: a checkpoint has lawful records only, all of them that
				 * come before its marks. */
				top(logKeys, n);
				assert(logKeys == (law & UPTO(n - 1)));
				assert((logRows & ~law) == 0);
				count(logKeys, position);
				r = 0;
				do
				:: r < logFrom ->
					assert(!(law & BIT(r)) || log[r] % 8 == 0 || log[r] % 8 == bye[log[r] / 8] || (logRows & BIT(r)));
					r++
				:: else -> break
				od;
				n = 0; r = 0; o = 0;
				me.check = DONE
			}
#ifndef CHECKPOINT_WITHOUT_FENCE
		:: else -> me.check = REFUSED; me.due = 0; me.from = 0 /* C4: deposed */
#endif
		fi }
#ifndef CALM /* there nothing may go on for ever */
	:: atomic { me.check == SENT -> me.check = NONE } /* C4: a membership error; try again */
#endif
	:: atomic { me.check == DONE ->
		d_step {
			me.clean = me.clean | CLEAN(me.due); me.diskClean = me.diskClean | CLEAN(me.due);
			top(me.diskKeys, me.diskCheck);
			me.due = 0; me.from = 0; me.check = NONE;
#ifndef STORE
			discard()
#endif
		}
		if
		:: LEASED(i) -> me.known++
#ifdef LATE_RENEWAL_COUNTS
		:: else -> me.known++
#else
		:: else -> ends() /* O5: a late renewal does not count */
#endif
		fi }
	/* Revoked, or deposed but alive (O2, C4): all that was appended is settled,
	 * AuthorityReleased is sent, and nothing more. */
	:: atomic { me.phase == SERVING && me.settled == sent[me.tenure] &&
		(me.check == REFUSED || (me.check == NONE && !calm)) ->
		sent[me.tenure]++; bye[me.tenure] = sent[me.tenure]; ends() }
	:: atomic { me.phase == SERVING && !LEASED(i) -> ends() } /* O5: expired */

	/* --- dying ---------------------------------------------------------- */
	:: atomic { me.phase != IDLE && !calm -> ends() } /* killed; the store is kept */
#ifdef STORE
	:: atomic { me.phase == IDLE && !calm && me.diskKeys -> d_step { discard() } } /* the disk is lost */
#endif
	od
}

/* network lets arrive what a tenure has sent, at any later time, in the order of
 * its producer; or fails it, alone. */
proctype network(byte x) {
end:	do
	:: atomic { landed[x] < sent[x] ->
		landed[x]++;
		if
		:: append(8 * x + landed[x]); truth();
			if
			:: pl[host[x]].tenure != x -> forget(x)
			:: else
			fi
		:: !calm && pl[host[x]].tenure == x -> lost[x] = lost[x] | BIT(landed[x])
		fi }
	od
}

/* clock ends terms of the lease that is held, and transactions that last too long. */
#define SAFE (calm && pl[0].phase == SERVING && pl[0].tenure == nowTenure) /* renews in time */
proctype clock() {
end:	do
	:: atomic { nowTenure && ended[nowTenure] <= GRANTED(nowTenure) && !SAFE -> ended[nowTenure]++ }
	:: atomic { open && !calm -> abort() }
	od
}

#ifdef CALM
/* peace: the faults end, planner 0 is assigned, the others have lost the partition. */
proctype peace() {
	byte i = 1;
	atomic {
		!calm -> calm = 1;
		do
		:: i < PLANNERS -> 
			if
			:: me.phase != IDLE -> d_step { wipe() }
			:: else
			fi;
			i++
		:: else -> break
		od
	}
	/* Liveness: when nothing more can happen, planner 0 is the lawful owner. */
	timeout -> assert(pl[0].phase == SERVING && nowTenure == pl[0].tenure)
}
#endif

init {
	atomic {
		r = 0;
		do
		:: r < PLANNERS -> run planner(r); r++
		:: else -> break
		od;
		r = 1;
		do
		:: r <= FENCES -> run network(r); r++
		:: else -> break
		od;
		r = 0;
		run clock();
#ifdef CALM
		run peace()
#endif
	}
}
