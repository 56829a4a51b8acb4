import { KeysError, StoppedError, TaskError } from "./errors.js";
import { limits } from "./frames.js";
import type { KvInner, SetAlarm, StartTask, TaskIntent, TaskError as ErrorFrame, TaskState, ToClientKvResponse } from "./frames.js";
import { byteLength } from "./session.js";
import type { Site } from "./site.js";

/** What a task's function returns when the attempt is completed later by its token, over the API. */
export const pending: unique symbol = Symbol("pending");

/** What a task's function returns to go on later: sleepUntil makes it. */
export class Sleep {
  /** Unix ms */
  readonly until: number;

  constructor(until: number) {
    this.until = until;
  }
}

/**
 * What a task's function returns to go on later: its attempt ends and gives its slot back, and another one begins at that time, or soon
 * after it. What it keeps (keys) is there then. Neither counts as a failure or a retry; a time that has passed means at once.
 */
export function sleepUntil(at: Date | number): Sleep {
  const until = Math.trunc(Number(at));
  if (!Number.isSafeInteger(until)) throw new RangeError(`${String(at)} is no time`);
  return new Sleep(until);
}

/** A key and its value. */
export interface Entry<V = unknown> {
  key: string;
  value: V;
}

/** Which keys are listed. */
export interface ListOptions {
  /** of the keys; all */
  prefix?: string;
  /** the last come first */
  reverse?: boolean;
  /** at most 128, which it is without it */
  limit?: number;
}

/**
 * The keys and values that an attempt keeps at the server: a later attempt of the same step finds them, and they are gone
 * when the step has ended. One request has at most 128 keys, each of at most 2,048 bytes, with values of at most 131,072
 * bytes of JSON. Each method rejects with a KeysError, or with the reason of the attempt's signal.
 */
export interface Keys {
  /** The values of keys, in the order of the keys; those that have none are left out. */
  get(...keys: string[]): Promise<Entry[]>;
  /** Keys in order, with their values. */
  list(options?: ListOptions): Promise<Entry[]>;
  /** Gives values to keys, all or none. */
  put(...entries: Entry[]): Promise<void>;
  /** Takes keys and their values away, all or none. */
  delete(...keys: string[]): Promise<void>;
}

/** What a task's function can learn of its attempt, and say. */
export interface Attempt {
  /** with it anybody can complete, fail or heartbeat the attempt through the API */
  readonly token: string;
  readonly task: string;
  readonly workflow: string;
  readonly component: string;
  /** of the step, from 1 */
  readonly number: number;
  /** equal for all attempts of the step: hand it to systems that drop repetitions */
  readonly idempotencyKey: string;
  /** W3C trace context, or empty */
  readonly traceparent: string;
  /** values that came with the workflow, its input or its definition */
  readonly context: Readonly<Record<string, unknown>>;
  /** the newest details of an earlier attempt; undefined: there are none */
  readonly lastHeartbeat: unknown;
  /** aborted when the attempt is to stop; its reason is a StoppedError */
  readonly signal: AbortSignal;
  /**
   * aborted when the runner is going away: it stops, or an operator has stopped it. The function may go on, and signal is aborted before
   * the time is over that attempts have then (Times.drain); one that takes longer should end early
   */
  readonly leaving: AbortSignal;
  readonly keys: Keys;
  /**
   * Has the attempt answer the requests of clients of the gateway under /v1/workflows/WORKFLOW/tasks/TOKEN/tunnel/, until it ends. The path of
   * a request begins behind "tunnel". A request that came before waits for it. It may be called once.
   */
  serve(site: Site): void;
  /** Keeps details for the next attempt, should this one fail or get lost: the newest are sent about once a second. Throws when this one is to stop. */
  heartbeat(details: unknown): void;
  /** Asks for this attempt to be stopped: a while later signal is aborted, for the reason "requested". It ends as its function does then. */
  askToStop(): void;
}

/** What an attempt needs of its runner. */
export interface Host {
  serve(attempt: Running): void;
  beat(token: string, details: unknown): void;
  wish(inner: TaskIntent): void;
  ask(token: string, inner: KvInner, signal: AbortSignal): Promise<ToClientKvResponse>;
}

const maxDetails = 64 << 10;
const maxTimeout = 2 ** 31 - 1; // ms of a timer

/** An attempt that runs. */
export class Running implements Attempt {
  readonly #start: StartTask;
  readonly #host: Host;
  readonly #controller = new AbortController();
  readonly #leaving = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly keys: Keys;
  /** what is said before the attempt's end */
  wishes: (SetAlarm | TaskIntent)[] = [];
  site: Site | undefined; // what serves requests to it

  constructor(start: StartTask, host: Host) {
    this.#start = start;
    this.#host = host;
    this.keys = new RemoteKeys((inner) => host.ask(this.token, inner, this.signal));
    this.#bound();
  }

  get token(): string { return this.#start.token ?? ""; }
  get task(): string { return this.#start.task ?? ""; }
  get workflow(): string { return this.#start.workflow ?? ""; }
  get component(): string { return this.#start.component ?? ""; }
  get number(): number { return this.#start.attempt ?? 0; }
  get idempotencyKey(): string { return this.#start.idempotencyKey ?? ""; }
  get traceparent(): string { return this.#start.traceparent ?? ""; }
  get context(): Readonly<Record<string, unknown>> { return (this.#start.context ?? {}) as Record<string, unknown>; }
  get lastHeartbeat(): unknown { return this.#start.heartbeat; }
  get signal(): AbortSignal { return this.#controller.signal; }
  get leaving(): AbortSignal { return this.#leaving.signal; }
  get input(): unknown { return this.#start.input ?? null; }

  serve(site: Site): void {
    this.signal.throwIfAborted();
    if (this.site !== undefined) throw new Error("the attempt serves requests already");
    this.site = site;
    this.#host.serve(this);
  }

  heartbeat(details: unknown): void {
    this.signal.throwIfAborted();
    const size = byteLength(JSON.stringify(details ?? null));
    if (size > maxDetails) throw new RangeError(`heartbeat details have ${size} bytes, the limit is ${maxDetails}`);
    this.#host.beat(this.token, details ?? null);
  }

  askToStop(): void {
    this.#host.wish({ type: "TaskIntent", token: this.token, intent: "stop" });
  }

  /** Ends the attempt's signal. */
  halt(reason: string): void {
    this.#controller.abort(new StoppedError(reason));
  }

  /** Says that the runner is going away. */
  leave(): void {
    this.#leaving.abort(new StoppedError("going_away"));
  }

  #bound(): void {
    const { deadline, timeout } = this.#start;
    const left = Math.min(timeout || Infinity, deadline ? deadline - Date.now() : Infinity);
    if (left !== Infinity) this.#timer = setTimeout(() => this.halt("timed_out"), Math.min(Math.max(0, left), maxTimeout));
  }

  /** Runs a function up to its end. */
  async run(f: ((input: unknown, attempt: Attempt) => unknown) | undefined): Promise<TaskState> {
    const end: TaskState = { type: "TaskState", token: this.token, state: "stopped" };
    try {
      if (f === undefined) throw new TaskError("unknown_task", `the runner does not know ${this.task}`);
      const result = await f(this.input, this);
      if (result instanceof Sleep) {
        this.wishes = [{ type: "SetAlarm", token: this.token, at: result.until }, { type: "TaskIntent", token: this.token, intent: "sleep" }];
        return { ...end, error: { type: "sleeping", message: `the attempt sleeps until ${new Date(result.until).toISOString()}` } };
      }
      if (result === pending) return { ...end, state: "detached" };
      return { ...end, ok: true, result: asJSON(result) };
    } catch (e) {
      return { ...end, error: bounded(this.#failure(e)) };
    } finally {
      clearTimeout(this.#timer);
    }
  }

  /** Why the attempt has failed. What its function says itself stands, except against a cancellation. */
  #failure(e: unknown): ErrorFrame {
    const reason: unknown = this.signal.reason;
    const stopped = reason instanceof StoppedError ? reason.reason : "";
    if (stopped !== "" && (!(e instanceof TaskError) || stopped === "cancelled")) {
      return { type: stopped === "timed_out" ? "timeout" : stopped, message: e instanceof Error ? e.message : String(e) };
    }
    if (e instanceof TaskError) {
      const out: ErrorFrame = { type: e.type || "error", message: e.message, retryable: e.retryable };
      if (e.retryAfter > 0) out.retryAfter = Math.round(e.retryAfter);
      if (e.details !== undefined) out.details = e.details;
      return out;
    }
    if (e instanceof Error) return { type: "error", message: e.message || e.name, details: { name: e.name, stack: (e.stack ?? "").slice(0, 4096) } };
    return { type: "error", message: String(e) };
  }
}

/** The value that JSON has of a result. */
function asJSON(result: unknown): unknown {
  try {
    const text = JSON.stringify(result ?? null);
    if (text === undefined) throw new TypeError("it is a function or a symbol");
    return result ?? null;
  } catch (e) {
    throw new TaskError("invalid_result", `the result has no JSON: ${String(e)}`, { retryable: false });
  }
}

/** An error within the bounds that a workflow's state has: its message is cut, details that are too large or no JSON are left out. */
function bounded(e: ErrorFrame): ErrorFrame {
  const out = { ...e, type: (e.type ?? "").slice(0, 255), message: (e.message ?? "").slice(0, 8 << 10) };
  try {
    if (e.details === undefined || byteLength(JSON.stringify(e.details) ?? "") <= maxDetails) return out;
    out.message += ` (its details had more than the limit of ${maxDetails} bytes)`;
  } catch (why) {
    out.message += ` (its details are no JSON: ${String(why)})`;
  }
  delete out.details;
  return out;
}

class RemoteKeys implements Keys {
  readonly #ask: (inner: KvInner) => Promise<ToClientKvResponse>;

  constructor(ask: (inner: KvInner) => Promise<ToClientKvResponse>) {
    this.#ask = ask;
  }

  async get(...keys: string[]): Promise<Entry[]> {
    check(keys);
    return entries(await this.#ask({ type: "KvGet", keys }));
  }

  async list(options: ListOptions = {}): Promise<Entry[]> {
    if ((options.limit ?? 0) > limits.maxKvKeys) throw new KeysError("too_many_keys", `a list has at most ${limits.maxKvKeys} keys`);
    return entries(await this.#ask({ type: "KvList", ...options }));
  }

  async put(...all: Entry[]): Promise<void> {
    check(all.map((e) => e.key));
    const sent = all.map(({ key, value }) => ({ key, value: value ?? null }));
    for (const { value } of sent) {
      const size = byteLength(JSON.stringify(value));
      if (size > limits.maxKvValue) throw new KeysError("value_too_large", `a value has ${size} bytes, at most are allowed ${limits.maxKvValue}`);
    }
    entries(await this.#ask({ type: "KvPut", entries: sent }));
  }

  async delete(...keys: string[]): Promise<void> {
    check(keys);
    entries(await this.#ask({ type: "KvDelete", keys }));
  }
}

function check(keys: string[]): void {
  if (keys.length > limits.maxKvKeys) throw new KeysError("too_many_keys", `a request names at most ${limits.maxKvKeys} keys`);
  for (const k of keys) {
    const size = byteLength(k);
    if (size < 1 || size > limits.maxKvKey) throw new KeysError("key_length", `a key has ${size} bytes, want 1 to ${limits.maxKvKey}`);
  }
}

function entries(r: ToClientKvResponse): Entry[] {
  if (r.error !== undefined) throw new KeysError(r.error.code ?? "", r.error.message ?? "");
  return (r.entries ?? []).map((e) => ({ key: e.key ?? "", value: e.value ?? null }));
}
