/** Why an attempt has failed: a task's function throws one to say more than an ordinary error does. */
export class TaskError extends Error {
  override readonly name = "TaskError";
  /** tells policies and programs what it is */
  readonly type: string;
  /** whether another attempt may succeed */
  readonly retryable: boolean;
  /** milliseconds that the next attempt waits at least */
  readonly retryAfter: number;
  /** kept with the failure, as JSON */
  readonly details: unknown;

  constructor(type: string, message: string, more: { retryable?: boolean; retryAfter?: number; details?: unknown; cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.type = type;
    this.retryable = more.retryable ?? true;
    this.retryAfter = more.retryAfter ?? 0;
    this.details = more.details;
  }
}

/** The reason of an attempt's signal: why it is to stop. */
export class StoppedError extends Error {
  override readonly name = "StoppedError";
  /** cancelled, timed_out, going_away (the runner drains), lost, replaced, shutdown */
  readonly reason: string;

  constructor(reason: string) {
    super(`the attempt is to stop: ${reason}`);
    this.reason = reason;
  }
}

/** Why a request for keys was not done. */
export class KeysError extends Error {
  override readonly name = "KeysError";
  /**
   * timeout: no answer came in time; unknown: the socket broke before it came, and whether it was done is unknown; stopped: the
   * runner has stopped; else the code of the server's refusal.
   */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The server has closed the runner for good: another process has its key, or an operator has stopped it. */
export class EvictedError extends Error {
  override readonly name = "EvictedError";

  constructor() {
    super("the server has closed the runner for good: another process has its key, or an operator has stopped it");
  }
}

/** The server takes no runner at this URL. */
export class URLError extends Error {
  override readonly name = "URLError";

  constructor() {
    super("the server takes no runner at this URL: a parameter is missing or wrong, or the server speaks another version of the protocol");
  }
}
