import { Running } from "./attempt.js";
import type { Attempt, Host, pending, Sleep } from "./attempt.js";
import * as binary from "./binary.js";
import { KeysError } from "./errors.js";
import { limits, path, protocolVersion, subprotocol } from "./frames.js";
import type { Close, FrameToClient, FrameToServer, KvInner, StartTask, TaskIntent, ToClientKvResponse, ToServerInit, TunnelInner } from "./frames.js";
import { close, noClose, Session } from "./session.js";
import type { Action } from "./session.js";
import { Visit } from "./site.js";
import { begins } from "./stream.js";
import { defaultTimes } from "./times.js";
import type { Times } from "./times.js";

/** A task's name and the types of its input and result, which travel as JSON. */
export interface Task<I, O> {
  readonly name: string;
  /** for the compiler alone */
  readonly types?: { input: I; result: O };
}

/** Names a task: once, where everybody who serves it or starts it can import it. */
export function defineTask<I, O>(name: string): Task<I, O> {
  return { name };
}

/** A task's function. It may be called for many attempts at a time; what it throws fails the attempt. */
export type Handler<I, O> = (input: I, attempt: Attempt) => O | typeof pending | Sleep | Promise<O | typeof pending | Sleep>;

/** Where a runner writes what it has to tell; console is one. */
export interface Logger {
  info(message: string, more?: unknown): void;
  warn(message: string, more?: unknown): void;
}

/** Which pool a runner offers its slots to, and who it is. */
export interface Options {
  /** where runners connect: http, https, ws or wss; without a path it gets the usual one */
  url: string;
  pool: string;
  /** names the runner in its pool, also after a restart; of two that connect with the same one the older is closed */
  key: string;
  /** shown to people; the key */
  name?: string;
  /** of the program: a pool gives work to the highest first; 0 */
  version?: number;
  /** attempts at a time, up to limits.maxSlots; 1 */
  slots?: number;
  /** shown to people, as JSON */
  metadata?: unknown;
  /** bearer token */
  token?: string;
  /** frames are Protocol Buffers, not JSON */
  binary?: boolean;
  /** aborted: the runner stops as by stop() */
  signal?: AbortSignal;
  onConnected?(runnerId: string): void;
  /** the reason of the close frame; empty: there was none */
  onDisconnected?(reason: string): void;
  /** once, when run ends */
  onShutdown?(): void;
  /** silent without one */
  logger?: Logger;
  times?: Partial<Times>;
  /** that of the platform; Node has one from version 22 on, and with --experimental-websocket from 20.10 on */
  webSocket?: typeof WebSocket;
}

/** How many milliseconds an old socket is waited for before the next one is opened. */
const closing = 1_000;
const maxTimeout = 2 ** 31 - 1;

/** Runs the tasks that handle registers. */
export class Runner implements Host {
  readonly #options: Options;
  readonly #times: Times;
  readonly #socketType: typeof WebSocket;
  readonly #handlers = new Map<string, Handler<unknown, unknown>>();
  readonly #attempts = new Map<string, Running>();
  readonly #answers = new Map<number, { resolve(r: ToClientKvResponse): void; reject(e: unknown): void }>();
  readonly #visits = new Map<string, { token: string; visit: Visit }>(); // requests of clients to attempts
  #session: Session | undefined; // there is one from run on
  #socket: WebSocket | undefined;
  #wish: object | undefined; // of a socket that is to be opened
  #closed: Promise<void> = Promise.resolve(); // of the socket before
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turning = false;
  #wanted: "run" | "stop" | "stopNow" = "run";
  #finish: ((error: Error | undefined) => void) | undefined;

  constructor(options: Options) {
    const type = options.webSocket ?? globalThis.WebSocket;
    if (type === undefined) throw new Error("there is no WebSocket: Node has one from version 22 on, or give Options.webSocket");
    if (!options.pool || !options.key) throw new Error("Options.pool and Options.key must not be empty");
    const slots = options.slots ?? 1;
    if (!Number.isInteger(slots) || slots < 1 || slots > limits.maxSlots) throw new Error(`Options.slots is ${slots}, want 1 to ${limits.maxSlots}`);
    this.#options = options;
    this.#socketType = type;
    this.#times = { ...defaultTimes, ...options.times };
    this.#url(); // an error now, not later
  }

  /** Makes the runner run f for the attempts of a task. It is for the time before run. */
  handle<I, O>(task: Task<I, O>, f: Handler<I, O>): this {
    if (this.#session !== undefined) throw new Error(`the task ${task.name} was registered after run`);
    if (this.#handlers.has(task.name)) throw new Error(`the task ${task.name} is registered twice`);
    this.#handlers.set(task.name, f as Handler<unknown, unknown>);
    return this;
  }

  /**
   * Connects and runs attempts until the runner is stopped. A socket that breaks is replaced, as often as it takes. Rejects with an
   * EvictedError when the server wants the runner no more, and with a URLError when it never did. A runner runs once.
   */
  async run(): Promise<void> {
    if (this.#session !== undefined) throw new Error("run was called twice");
    const session = new Session(this.#init(), this.#times, Math.random);
    this.#session = session;
    const over = new Promise<Error | undefined>((resolve) => (this.#finish = resolve));
    const stop = (): void => this.stop();
    this.#options.signal?.addEventListener("abort", stop);
    if (this.#wanted === "run" && this.#options.signal?.aborted !== true) this.#turn(() => session.begin(Date.now()));
    else this.#turn(() => session.stopNow());
    const error = await over;
    this.#options.signal?.removeEventListener("abort", stop);
    await this.#leave();
    this.#options.onShutdown?.();
    if (error !== undefined) throw error;
  }

  /** Takes no more attempts, lets those that run end, for Times.drain, and ends run. */
  stop(): void {
    if (this.#wanted === "run") this.#wanted = "stop";
    this.#turn((s) => s.stop(Date.now()));
  }

  /** Ends run at once, without a word to the server but the close of the socket: what runs counts as lost after a while. */
  stopNow(): void {
    this.#wanted = "stopNow";
    this.#turn((s) => s.stopNow());
  }

  #url(): string {
    const u = new URL(this.#options.url);
    u.protocol = u.protocol.replace(/^http/, "ws");
    if (u.protocol !== "ws:" && u.protocol !== "wss:") throw new Error(`Options.url is ${this.#options.url}, want http, https, ws or wss`);
    if (u.pathname === "/") u.pathname = path;
    u.searchParams.set("protocol_version", String(protocolVersion));
    u.searchParams.set("pool", this.#options.pool);
    u.searchParams.set("runner_key", this.#options.key);
    if (this.#options.binary === true) u.searchParams.set("encoding", "binary");
    return u.href;
  }

  #init(): ToServerInit {
    const o = this.#options;
    const init: ToServerInit = {
      type: "ToServerInit", name: o.name ?? o.key, version: o.version ?? 0, totalSlots: o.slots ?? 1, lastCommandIdx: null,
      instance: crypto.randomUUID(), prepopulateTaskNames: Object.fromEntries([...this.#handlers.keys()].map((name) => [name, {}])),
    };
    if (o.metadata !== undefined) init.metadata = o.metadata;
    return init;
  }

  /** Hands something that has happened to the session, and does what it wants. */
  #turn(happened: (s: Session) => void): void {
    const s = this.#session;
    if (s === undefined) return;
    happened(s);
    if (this.#turning) return; // the loop below takes it
    this.#turning = true;
    s.wake(Date.now());
    for (let all = s.take(); all.length > 0; all = s.take()) all.forEach((a) => this.#perform(a));
    this.#turning = false;
    clearTimeout(this.#timer);
    const next = s.next();
    if (next !== Infinity) this.#timer = setTimeout(() => this.#turn(() => {}), Math.min(Math.max(0, next - Date.now()), maxTimeout));
  }

  #perform(a: Action): void {
    const o = this.#options;
    switch (a.do) {
      case "dial":
        this.#dial();
        break;
      case "send":
        this.#send(a.frame);
        break;
      case "hangup":
        this.#hangup(a.close);
        break;
      case "start":
        this.#start(a.task);
        break;
      case "halt":
        this.#attempts.get(a.token)?.halt(a.reason);
        break;
      case "leave":
        this.#attempts.get(a.token)?.leave();
        break;
      case "answer":
        if (a.response !== undefined) this.#answers.get(a.request)?.resolve(a.response);
        else this.#answers.get(a.request)?.reject(a.error);
        this.#answers.delete(a.request);
        break;
      case "serve":
        this.#visit(a.request, a.token, a.message);
        break;
      case "room":
        this.#visits.get(a.request)?.visit.room();
        break;
      case "gone":
        this.#visits.get(a.request)?.visit.gone(a.reason);
        this.#visits.delete(a.request);
        break;
      case "connected":
        o.logger?.info("the runner is connected", { runner: a.runnerId });
        this.#tell(() => o.onConnected?.(a.runnerId));
        break;
      case "disconnected":
        o.logger?.info("the runner has lost its connection", a.close);
        this.#tell(() => o.onDisconnected?.(a.close.reason));
        break;
      case "warn":
        o.logger?.warn(a.text, { count: a.count });
        break;
      case "over":
        this.#finish?.(a.error);
    }
  }

  /** Calls into the program, when this turn is over. */
  #tell(f: () => void): void {
    queueMicrotask(f);
  }

  /** Opens a socket. The one before is closed first, if it does so soon. */
  #dial(): void {
    const wish = {};
    this.#wish = wish;
    void this.#closed.then(() => {
      if (this.#wish === wish) this.#open();
    });
  }

  #open(): void {
    const protocols = [subprotocol];
    if (this.#options.token) protocols.push("heddle.token." + base64url(this.#options.token));
    const socket = new this.#socketType(this.#url(), protocols);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    const mine = (happened: (s: Session) => void): void => {
      if (this.#socket === socket) this.#turn(happened);
    };
    let opened = false;
    socket.onopen = () => {
      opened = true;
      mine((s) => s.opened());
    };
    socket.onmessage = (m) => this.#read(m.data, mine, socket);
    this.#closed = new Promise((resolve) => {
      const gone = (c: Close): void => {
        mine((s) => {
          this.#socket = undefined;
          s.broken(Date.now(), c);
        });
        resolve();
      };
      socket.onclose = (c) => gone(noFrame.has(c.code) ? noClose : { code: c.code, reason: c.reason });
      socket.onerror = () => {
        if (!opened) gone(noClose); // Node 20 has no close event for a socket that was never open
      };
    });
  }

  #read(data: unknown, mine: (happened: (s: Session) => void) => void, socket: WebSocket): void {
    let frame: FrameToClient;
    try {
      frame = this.#options.binary === true ? decodeBinary(data) : decode(data);
    } catch (e) {
      this.#options.logger?.warn("a frame of the server cannot be read", e);
      mine((s) => {
        this.#socket = undefined;
        quit(socket, close("ws.invalid_packet"));
        s.broken(Date.now(), noClose);
      });
      return;
    }
    mine((s) => s.received(Date.now(), frame));
  }

  #send(frame: FrameToServer): void {
    if (this.#socket?.readyState === WebSocketState.open) this.#socket.send(this.#options.binary === true ? binary.encode(frame) : JSON.stringify(frame));
  }

  #hangup(c: Close): void {
    this.#wish = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    this.#closed = within(closing, this.#closed);
    quit(socket, c);
  }

  #start(task: StartTask): void {
    const attempt = new Running(task, this);
    this.#attempts.set(attempt.token, attempt);
    queueMicrotask(() => {
      void attempt.run(this.#handlers.get(attempt.task)).then((end) => {
        this.#attempts.delete(attempt.token);
        this.#turn((s) => s.ended(Date.now(), end, attempt.wishes));
        this.#left?.();
      });
    });
  }

  #left: (() => void) | undefined;

  /** Waits for the socket's close and for functions whose signals have been aborted, but not for long. */
  async #leave(): Promise<void> {
    clearTimeout(this.#timer);
    const none = new Promise<void>((resolve) => {
      this.#left = () => {
        if (this.#attempts.size === 0) resolve();
      };
      this.#left();
    });
    await within(this.#times.leave, Promise.all([none, this.#closed]));
  }

  /** For attempts: keeps details of a heartbeat. */
  beat(token: string, details: unknown): void {
    this.#turn((s) => s.beat(Date.now(), token, details));
  }

  /** For attempts: says what becomes of them. */
  wish(inner: TaskIntent): void {
    this.#turn((s) => s.wish(inner));
  }

  /** For attempts: asks for keys. */
  ask(token: string, inner: KvInner, signal: AbortSignal): Promise<ToClientKvResponse> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const forget = (): void => {
        this.#answers.delete(id);
        this.#turn((s) => s.forget(id));
        reject(signal.reason as Error);
      };
      const done = <T>(f: (v: T) => void) => (v: T): void => {
        signal.removeEventListener("abort", forget);
        f(v);
      };
      let id = 0;
      if (this.#session === undefined) reject(new KeysError("stopped", "the runner does not run"));
      this.#turn((s) => {
        id = s.request(Date.now(), token, inner);
        this.#answers.set(id, { resolve: done(resolve), reject: done(reject) });
        signal.addEventListener("abort", forget);
      });
    });
  }

  /** For attempts: serves requests of clients, those that have waited first. */
  serve(attempt: Running): void {
    for (const one of this.#visits.values()) {
      if (one.token === attempt.token && attempt.site !== undefined) one.visit.serve(attempt.site);
    }
  }

  /** Hands a message of a client to the attempt. One that comes before the attempt serves waits. */
  #visit(request: string, token: string, message: TunnelInner): void {
    let one = this.#visits.get(request);
    if (one === undefined) {
      if (!begins(message)) return; // the attempt has answered without it
      const port = {
        reply: (inner: TunnelInner): "sent" | "full" | "over" => {
          let result: "sent" | "full" | "over" = "over";
          this.#turn((s) => (result = s.reply(request, inner)));
          return result;
        },
        took: (): void => this.#turn((s) => s.took(request)),
        over: (): void => void this.#visits.delete(request),
        refuse: (reason: string): void => this.#turn((s) => s.refuse(request, reason)),
      };
      one = { token, visit: new Visit(port) };
      this.#visits.set(request, one);
    }
    one.visit.push(message);
    const site = this.#attempts.get(token)?.site;
    if (site !== undefined) one.visit.serve(site);
  }

}

/** What a WebSocket calls a close without a close frame, or without a code in it. */
const noFrame = new Set([1005, 1006]);

/** The states of a WebSocket, which an implementation of one need not have as its own. */
const WebSocketState = { open: 1 } as const;

/** Closes a socket. A program may give 1000 only, of the codes that the protocol has. */
function quit(socket: WebSocket, c: Close): void {
  if (c.code === 1000) socket.close(c.code, c.reason);
  else socket.close(3000, c.reason);
}

function decode(data: unknown): FrameToClient {
  if (typeof data !== "string") throw new Error("it is no text");
  const frame: unknown = JSON.parse(data);
  if (typeof frame !== "object" || frame === null || !("type" in frame) || typeof frame.type !== "string") throw new Error("it has no type");
  return frame as FrameToClient;
}

function decodeBinary(data: unknown): FrameToClient {
  if (!(data instanceof ArrayBuffer)) throw new Error("it is no binary frame");
  return binary.decode(new Uint8Array(data));
}

/** Waits for a promise, but no longer than that. */
function within(ms: number, p: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, maxTimeout));
    void p.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function base64url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
