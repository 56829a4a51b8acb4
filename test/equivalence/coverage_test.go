package equivalence

// enoughSeeds are the seeds of one test over which everything that is not
// excused has to occur.
const enoughSeeds = 60

var unreached = map[string]string{}
