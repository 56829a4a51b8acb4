// What a runner does next. Frames of the server, ends of attempts and the time go in, frames and other actions come
// out: no clock and no socket is touched here.

import { EvictedError, KeysError, URLError } from "./errors.js";
import { closes, limits } from "./frames.js";
import type { Close, Command, EventInner, FrameToClient, FrameToServer, KvInner, SetAlarm, StartTask, TaskIntent, TaskState, Terms, ToClientInit, ToClientKvResponse, ToServerInit, TunnelInner } from "./frames.js";
import type { Event as Reported } from "./frames.js";
import type { Times } from "./times.js";
import { Visits } from "./visits.js";
import type { VisitAction } from "./visits.js";

/** What is to be done, in order. */
export type Action =
  | { do: "dial" }
  | { do: "send"; frame: FrameToServer }
  | { do: "hangup"; close: Close }
  | { do: "start"; task: StartTask }
  | { do: "halt"; token: string; reason: string }
  | { do: "leave"; token: string }
  | { do: "answer"; request: number; response?: ToClientKvResponse; error?: KeysError }
  | VisitAction
  | { do: "connected"; runnerId: string }
  | { do: "disconnected"; close: Close }
  | { do: "warn"; text: string; count: number }
  | { do: "over"; error?: Error };

export const noClose: Close = { code: 0, reason: "" };
export const shutdown: Close = close("pegboard.runner_shutdown");

export function close(reason: keyof typeof closes): Close {
  return { code: closes[reason].code, reason };
}

/** How many events may wait for their acknowledgement before the runner warns. */
const unacknowledged = 10_000;

/** How many commands are received before they are acknowledged without waiting for the time. */
const ackEvery = 500;

/** What a frame with a result has besides it, at most. */
const frameOverhead = 8 << 10;

type Phase = "waiting" | "dialing" | "opening" | "connected" | "over";

interface Attempt {
  task: StartTask;
  token: string;
  started: boolean;
  halted: boolean;
  leaveBy: number; // when its signal is aborted because the runner is going away; Infinity: that is not known
  details: unknown;
  unsent: boolean;
  nextBeat: number;
}

interface Request {
  id: number;
  token: string;
  inner: KvInner;
  until: number;
  sent: boolean;
}

export class Session {
  readonly #init: ToServerInit;
  readonly #times: Times;
  readonly #random: () => number;
  #out: Action[] = [];

  #phase: Phase = "waiting";
  #due = 0; // waiting: to dial; dialing and opening: to give up
  #tries = 0; // sockets since the last ToClientInit
  #heard = 0; // of the newest frame
  #nextPing = 0;
  #away: number | null = null; // since when there is no socket; null: there is one, or there was none yet
  #goodbye = false; // ToClientClose has come

  #id = "";
  #lost: number;
  #silence: number;
  #maxPayload: number = limits.maxPayload;

  #lastCommand = -1; // received
  #ackedCommand = -1;
  #offeredCommand = -1; // #lastCommand when the socket was opened
  #nextAck = 0;

  #nextEvent = 0; // index
  #events: Reported[] = []; // that are not acknowledged
  #warned = false;

  readonly #attempts = new Map<string, Attempt>(); // in the order in which they came
  #running = 0;

  readonly #visits = new Visits(
    (a) => this.#out.push(a),
    (f) => {
      if (this.#phase === "connected") this.#send(f);
    },
    (token) => {
      const a = this.#attempts.get(token);
      return a !== undefined && a.started && !a.halted;
    },
  );

  #lastRequest = 0;
  #requests: Request[] = [];

  #stopping = false;
  #stopUntil = 0;
  #nextLook = 0;
  #idle: number | null = null; // since when no attempt runs

  constructor(init: ToServerInit, times: Times, random: () => number) {
    this.#init = init;
    this.#times = times;
    this.#random = random;
    this.#lost = times.lost;
    this.#silence = times.silence;
  }

  /** Takes what is to be done for what has happened. */
  take(): Action[] {
    const out = this.#out;
    this.#out = [];
    return out;
  }

  #send(frame: FrameToServer): void {
    this.#out.push({ do: "send", frame });
  }

  /** Dials the first socket. */
  begin(now: number): void {
    this.#dial(now);
  }

  #dial(now: number): void {
    this.#phase = "dialing";
    this.#due = now + this.#times.init;
    this.#out.push({ do: "dial" });
  }

  /** The socket is open. */
  opened(): void {
    if (this.#phase !== "dialing") return;
    this.#phase = "opening";
    this.#offeredCommand = this.#lastCommand;
    this.#send({ ...this.#init, lastCommandIdx: this.#lastCommand < 0 ? null : this.#lastCommand, runnerId: this.#id });
  }

  /** The socket has ended, or could not be opened. */
  broken(now: number, c: Close): void {
    if (this.#phase === "waiting" || this.#phase === "over") return;
    const was = this.#phase;
    this.#phase = "waiting";
    this.#reject((r) => r.sent, "unknown", "the socket broke after the request for keys was sent: whether it was done is unknown");
    if (was === "connected") {
      this.#away = now;
      this.#out.push({ do: "disconnected", close: c });
    }
    const known = closes[c.reason as keyof typeof closes];
    if (this.#stopping) this.#finish();
    else if (this.#goodbye || (known?.final === true && known.code === c.code)) this.#finish(new EvictedError());
    else if (c.reason === "ws.invalid_url") this.#finish(new URLError());
    else {
      const d = Math.min(this.#times.firstReconnect * 2 ** Math.min(this.#tries, 62), this.#times.lastReconnect);
      this.#due = now + d * (1 + this.#random() / 4);
      this.#tries++;
    }
  }

  #hangup(now: number, c: Close): void {
    this.#out.push({ do: "hangup", close: c });
    this.broken(now, noClose);
  }

  /** A frame of the server. */
  received(now: number, f: FrameToClient): void {
    if (f.type === "ToClientInit" && this.#phase === "opening") {
      this.#connected(now, f);
      return;
    }
    if (this.#phase !== "connected" && this.#phase !== "opening") return;
    this.#heard = now;
    switch (f.type) {
      case "ToClientCommands":
        this.#receive(now, f.commands ?? []);
        break;
      case "ToClientAckEvents":
        this.#acked(f.lastEventIdx);
        this.#look(now);
        break;
      case "ToClientKvResponse": {
        const i = this.#requests.findIndex((r) => r.id === f.requestId && r.sent);
        if (i >= 0) {
          this.#requests.splice(i, 1);
          this.#out.push({ do: "answer", request: f.requestId, response: f });
        }
        break;
      }
      case "ToClientTunnel":
        this.#visits.receive(now, f);
        break;
      case "ToClientClose":
        this.#goodbye = true;
    }
  }

  #connected(now: number, init: ToClientInit): void {
    this.#phase = "connected";
    this.#tries = 0;
    this.#heard = now;
    this.#nextPing = now + this.#times.ping;
    this.#nextAck = now + this.#times.ackCommands;
    this.#away = null;
    this.#terms(init.metadata);
    const id = init.runnerId ?? "";
    if (this.#id === id) this.#ackedCommand = Math.max(this.#ackedCommand, this.#offeredCommand);
    else if (this.#id !== "") this.#replaced();
    this.#id = id;
    for (const r of this.#requests) {
      if (!r.sent) this.#ask(r);
    }
    this.#resume(init.lastEventIdx);
    this.#visits.resume(now);
    for (const a of this.#attempts.values()) this.#beatIfDue(now, a);
    this.#out.push({ do: "connected", runnerId: id });
  }

  #terms(t: Terms | undefined): void {
    this.#lost = t?.runnerLostThreshold || this.#lost;
    this.#silence = t?.pingTimeout || this.#silence;
    this.#maxPayload = t?.limits?.maxPayload || this.#maxPayload;
  }

  /** Forgets the session that the server has forgotten. How attempts have ended is still reported: their tokens say whose they are. */
  #replaced(): void {
    this.#haltAll("replaced", false);
    this.#visits.endAll("the runner has another session", false);
    this.#events = this.#events.filter((e) => e.inner?.type === "TaskState" && e.inner.state !== "running").map((e, index) => ({ ...e, index }));
    this.#nextEvent = this.#events.length;
    this.#lastCommand = this.#ackedCommand = -1;
  }

  /** Does what is due. */
  wake(now: number): void {
    if (this.#phase === "over") return;
    this.#reject((r) => now >= r.until, "timeout", "the request for keys took too long");
    for (const a of [...this.#attempts.values()]) {
      if (now >= a.leaveBy) this.#stop(a.token, "going_away");
    }
    if (this.#away !== null && now >= this.#away + this.#lost) this.#haltAll("lost", true);
    if (this.#phase === "waiting") {
      if (now >= this.#due) this.#dial(now);
    } else if (this.#phase !== "connected") {
      if (now >= this.#due) this.#hangup(now, close("ws.timed_out_waiting_for_init"));
    } else if (now >= this.#heard + this.#silence) {
      this.#hangup(now, close("ws.ping_timeout"));
    } else {
      this.#keep(now);
    }
  }

  #keep(now: number): void {
    if (now >= this.#nextPing) {
      this.#nextPing = now + this.#times.ping;
      this.#send({ type: "ToServerPing", ts: Math.round(now) });
    }
    if (now >= this.#nextAck) {
      this.#nextAck = now + this.#times.ackCommands;
      if (this.#lastCommand > this.#ackedCommand) this.#ack();
    }
    for (const a of this.#attempts.values()) this.#beatIfDue(now, a);
    this.#visits.wake(now);
    this.#look(now);
  }

  /** When wake is due; Infinity: nothing is. */
  next(): number {
    if (this.#phase === "over") return Infinity;
    let next = this.#requests[0]?.until ?? Infinity;
    const all = [...this.#attempts.values()];
    for (const a of all) {
      if (!a.halted) next = Math.min(next, a.leaveBy);
    }
    if (this.#phase !== "connected") {
      next = Math.min(next, this.#due);
      return this.#away !== null && all.some((a) => !a.halted) ? Math.min(next, this.#away + this.#lost) : next;
    }
    next = Math.min(next, this.#heard + this.#silence, this.#nextPing, this.#nextAck, this.#visits.next());
    for (const a of all) {
      if (a.unsent) next = Math.min(next, a.nextBeat);
    }
    return this.#stopping ? Math.min(next, this.#nextLook) : next;
  }

  // Commands.

  /** Does commands that are new. What is sent again has not been acknowledged: it is now. */
  #receive(now: number, all: Command[]): void {
    let again = false;
    for (const c of all) {
      if (c.index <= this.#lastCommand) {
        again = true;
        continue;
      }
      if (this.#lastCommand >= 0 && c.index > this.#lastCommand + 1) this.#out.push({ do: "warn", text: "commands of the server are missing before this one", count: c.index });
      this.#lastCommand = c.index;
      if (c.inner?.type === "StartTask") this.#start(c.inner);
      else if (c.inner?.type === "StopTask" && c.inner.reason === "going_away") this.#leave(now, c.inner.token ?? "");
      else if (c.inner?.type === "StopTask") this.#stop(c.inner.token ?? "", c.inner.reason ?? "");
    }
    if (again || this.#lastCommand - this.#ackedCommand >= ackEvery) this.#ack();
  }

  #ack(): void {
    this.#ackedCommand = this.#lastCommand;
    this.#send({ type: "ToServerAckCommands", lastCommandIdx: this.#lastCommand });
  }

  #start(task: StartTask): void {
    const token = task.token ?? "";
    if (this.#attempts.has(token)) return;
    if (this.#stopping) {
      this.#report(notStarted(token, "going_away"));
      return;
    }
    this.#attempts.set(token, { task, token, started: false, halted: false, leaveBy: Infinity, details: null, unsent: false, nextBeat: 0 });
    this.#fill();
  }

  /** Starts what waits, as far as there are slots. */
  #fill(): void {
    for (const a of this.#attempts.values()) {
      if (this.#running >= (this.#init.totalSlots ?? 1)) return;
      if (a.started) continue;
      a.started = true;
      this.#running++;
      this.#out.push({ do: "start", task: a.task });
      this.#report({ type: "TaskState", token: a.token, state: "running" });
    }
  }

  /** Tells an attempt that the runner is going away. One that runs has a while to end by itself. */
  #leave(now: number, token: string): void {
    const a = this.#attempts.get(token);
    if (a === undefined || !a.started) {
      this.#stop(token, "going_away");
    } else if (a.leaveBy === Infinity && !a.halted) {
      a.leaveBy = now + this.#times.drain * 0.9; // so that its end is told before the runner closes
      this.#out.push({ do: "leave", token });
    }
  }

  /** Ends an attempt; one that is not known has ended. */
  #stop(token: string, reason: string): void {
    const a = this.#attempts.get(token);
    if (a === undefined || a.halted) return;
    if (a.started) {
      a.halted = true;
      this.#out.push({ do: "halt", token, reason });
      return;
    }
    this.#attempts.delete(token);
    this.#report(notStarted(token, reason));
  }

  #haltAll(reason: string, tell: boolean): void {
    for (const a of [...this.#attempts.values()]) {
      if (!a.started && !tell) this.#attempts.delete(a.token);
      else this.#stop(a.token, reason);
    }
  }

  /** How an attempt that was started has ended. */
  ended(now: number, end: TaskState, wishes: (SetAlarm | TaskIntent)[] = []): void {
    const a = this.#attempts.get(end.token ?? "");
    if (a === undefined || !a.started) return;
    for (const w of wishes) this.wish(w);
    this.#attempts.delete(a.token);
    this.#running--;
    if (this.#phase === "over") return;
    this.#visits.ended(a.token);
    if (a.unsent && end.error !== undefined) this.#report({ type: "Heartbeat", token: a.token, details: a.details }); // the next attempt gets them
    this.#report(this.#bounded(end));
    this.#fill();
    this.#look(now);
  }

  #bounded(end: TaskState): TaskState {
    const most = Math.max(0, this.#maxPayload - frameOverhead);
    const size = end.ok === true ? byteLength(JSON.stringify(end.result)) : 0;
    if (size <= most) return end;
    const error = { type: "result_too_large", message: `the result has ${size} bytes, the limit is ${most}`, retryable: false };
    return { type: "TaskState", token: end.token ?? "", state: "stopped", error };
  }

  /** Says what is to become of an attempt that was started. */
  wish(inner: SetAlarm | TaskIntent): void {
    if (this.#attempts.get(inner.token ?? "")?.started === true && this.#phase !== "over") this.#report(inner);
  }

  /** Keeps the newest details of an attempt: they are sent from time to time. */
  beat(now: number, token: string, details: unknown): void {
    const a = this.#attempts.get(token);
    if (a === undefined || !a.started) return;
    a.details = details;
    a.unsent = true;
    if (this.#phase === "connected") this.#beatIfDue(now, a);
  }

  #beatIfDue(now: number, a: Attempt): void {
    if (!a.unsent || now < a.nextBeat) return;
    const limit = a.task.heartbeatTimeout ?? 0;
    a.unsent = false;
    a.nextBeat = now + (limit > 0 ? Math.min(this.#times.heartbeat, limit / 3) : this.#times.heartbeat);
    this.#report({ type: "Heartbeat", token: a.token, details: a.details });
  }

  // Events.

  /** Reports something: at once, or when there is a socket. */
  #report(inner: EventInner): void {
    const event = { index: this.#nextEvent++, inner };
    this.#events.push(event);
    if (this.#events.length > unacknowledged && !this.#warned) {
      this.#warned = true;
      this.#out.push({ do: "warn", text: "many events are not acknowledged", count: this.#events.length });
    }
    if (this.#phase === "connected") this.#send({ type: "ToServerEvents", events: [event] });
  }

  #acked(last: number): void {
    let done = 0;
    while (done < this.#events.length && this.#events[done]!.index <= last) done++;
    this.#events.splice(0, done);
    if (this.#events.length <= unacknowledged) this.#warned = false;
  }

  /** Sends what the server has not applied again: as one message, if that is not too large. */
  #resume(last: number): void {
    this.#acked(last);
    this.#nextEvent = Math.max(this.#nextEvent, last + 1); // a process that has just started under a session of an earlier one
    let batch: Reported[] = [];
    let size = 0;
    for (const e of this.#events) {
      const bytes = byteLength(JSON.stringify(e)) + 1;
      if (batch.length > 0 && size + bytes + 64 > this.#maxPayload) {
        this.#send({ type: "ToServerEvents", events: batch });
        batch = [];
        size = 0;
      }
      batch.push(e);
      size += bytes;
    }
    if (batch.length > 0) this.#send({ type: "ToServerEvents", events: batch });
  }

  // Keys.

  /** Asks for keys; an answer follows, once, unless forget comes before. Returns the number of the request. */
  request(now: number, token: string, inner: KvInner): number {
    const r: Request = { id: ++this.#lastRequest, token, inner, until: now + this.#times.keys, sent: false };
    this.#requests.push(r);
    if (this.#phase === "over") this.#reject((one) => one === r, "stopped", "the runner has stopped");
    else if (this.#phase === "connected") this.#ask(r);
    return r.id;
  }

  #ask(r: Request): void {
    r.sent = true;
    this.#send({ type: "ToServerKvRequest", requestId: r.id, token: r.token, inner: r.inner });
  }

  /** Nobody waits for the answer to a request. */
  forget(id: number): void {
    this.#requests = this.#requests.filter((r) => r.id !== id);
  }

  #reject(meant: (r: Request) => boolean, code: string, message: string): void {
    for (const r of this.#requests.filter(meant)) {
      this.forget(r.id);
      this.#out.push({ do: "answer", request: r.id, error: new KeysError(code, message) });
    }
  }

  // Tunnels.

  /** Sends a message of an answer: "full" is that there is no room until an action says so, "over" that the request is over. */
  reply(id: string, inner: TunnelInner): "sent" | "full" | "over" {
    return this.#visits.reply(id, inner);
  }

  /** The oldest message of a request that was served, and not taken yet, has been. */
  took(id: string): void {
    this.#visits.took(id);
  }

  /** Ends a request before its end. */
  refuse(id: string, reason: string): void {
    this.#visits.refuse(id, reason);
  }

  // The end.

  /** Takes no more attempts, lets those that run end, and closes. Without a socket it is over at once. */
  stop(now: number): void {
    if (this.#stopping || this.#phase === "over") return;
    this.#stopping = true;
    this.#stopUntil = now + this.#times.drain;
    this.#nextLook = now + this.#times.drainLook;
    if (this.#phase !== "connected") {
      this.#finish();
      return;
    }
    this.#send({ type: "ToServerStopping" });
    for (const token of [...this.#attempts.keys()]) this.#leave(now, token);
    this.#look(now);
  }

  /** Closes at once. What runs is lost. */
  stopNow(): void {
    if (this.#phase !== "over") this.#finish();
  }

  /** Says whether a runner that stops has nothing left to wait for. */
  #look(now: number): void {
    if (!this.#stopping || this.#phase !== "connected") return;
    if (now >= this.#nextLook) this.#nextLook = now + this.#times.drainLook;
    if (this.#attempts.size > 0) this.#idle = null;
    else this.#idle ??= now;
    const told = this.#events.length === 0 || (this.#idle !== null && now >= this.#idle + this.#times.acks);
    if ((this.#attempts.size === 0 && told) || now >= this.#stopUntil) this.#finish();
  }

  #finish(error?: Error): void {
    this.#visits.endAll("the runner has stopped", true);
    if (this.#phase !== "waiting") {
      this.#out.push({ do: "hangup", close: shutdown });
      if (this.#phase === "connected") this.#out.push({ do: "disconnected", close: shutdown });
    }
    this.#phase = "over";
    this.#reject(() => true, "stopped", "the runner has stopped");
    this.#haltAll("shutdown", false);
    this.#out.push(error === undefined ? { do: "over" } : { do: "over", error });
  }
}

function notStarted(token: string, reason: string): TaskState {
  return { type: "TaskState", token, state: "stopped", error: { type: reason, message: "the attempt was stopped before it had begun" } };
}

const encoder = new TextEncoder();

export function byteLength(s: string): number {
  return encoder.encode(s).length;
}
