/** How long things take, in milliseconds. */
export interface Times {
  /** between two pings */
  ping: number;
  /** between two acknowledgements of commands */
  ackCommands: number;
  /** the delay before the first new socket, doubled for each one that fails */
  firstReconnect: number;
  /** the longest delay */
  lastReconnect: number;
  /** from the start of a connection to the server's first frame */
  init: number;
  /** without a frame before the socket counts as broken, until the server says it */
  silence: number;
  /** without a socket before attempts are stopped, until the server says it */
  lost: number;
  /** that a request for keys takes at most */
  keys: number;
  /** that attempts may take when the runner stops */
  drain: number;
  /** between two looks whether they have ended */
  drainLook: number;
  /** that a runner which stops waits for its last events to be acknowledged */
  acks: number;
  /** between two heartbeats of an attempt */
  heartbeat: number;
  /** that run waits at its end for functions whose signals have been aborted */
  leave: number;
}

/** The times unless an option says otherwise. */
export const defaultTimes: Readonly<Times> = {
  ping: 3_000,
  ackCommands: 300_000,
  firstReconnect: 1_000,
  lastReconnect: 30_000,
  init: 20_000,
  silence: 15_000,
  lost: 15_000,
  keys: 30_000,
  drain: 120_000,
  drainLook: 100,
  acks: 2_000,
  heartbeat: 1_000,
  leave: 5_000,
};

/** Times multiplied by f, but init: what takes minutes takes seconds in a test. */
export function scaled(times: Readonly<Times>, f: number): Times {
  const out = { ...times };
  for (const name of Object.keys(out) as (keyof Times)[]) {
    if (name !== "init") out[name] = times[name] * f;
  }
  return out;
}
