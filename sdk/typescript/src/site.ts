import type { TunnelInner } from "./frames.js";
import { begins } from "./stream.js";

/** What an attempt serves to clients of the gateway. */
export interface Site {
  /** Answers a request. What it throws ends the request without an answer. */
  fetch?(request: Request): Response | Promise<Response>;
  /**
   * Takes a WebSocket: it is open once the function has returned, with the sub-protocol that it returns. What it throws refuses it. The
   * request has the path and the headers.
   */
  webSocket?(socket: TunnelSocket, request: Request): string | undefined | void | Promise<string | undefined | void>;
}

/** A WebSocket to a client of the gateway. */
export interface TunnelSocket {
  /** Sends a message; it resolves once it is on its way, which a client that is slow to read delays. It rejects once the socket is closed. */
  send(data: string | Uint8Array): Promise<void>;
  /** Closes the socket, behind what was sent before. */
  close(code?: number, reason?: string): void;
  /** A message has come. The next one waits until what this returns has resolved. */
  onmessage?: ((data: string | Uint8Array) => unknown) | undefined;
  /** The socket is closed: by the client, by close, or because it broke, with 1006. */
  onclose?: ((code: number, reason: string) => void) | undefined;
}

/** What a visit needs of its runner. */
export interface Port {
  /** sends a message, if there is room; later says when there may be */
  reply(inner: TunnelInner): "sent" | "full" | "over";
  took(): void;
  /** the request is over */
  over(): void;
  /** ends the request before its end */
  refuse(reason: string): void;
}

/** How many bytes of a body a message has at most. */
const chunk = 32 << 10;

/** A request of a client to an attempt. */
export class Visit {
  readonly #port: Port;
  readonly #controller = new AbortController();
  readonly #in: TunnelInner[] = [];
  #arrived: (() => void) | undefined;
  #freed: (() => void) | undefined;
  #site: Site | undefined;

  constructor(port: Port) {
    this.#port = port;
  }

  /** A message has come. */
  push(message: TunnelInner): void {
    this.#in.push(message);
    this.#arrived?.();
  }

  /** There may be room. */
  room(): void {
    this.#freed?.();
  }

  /** The request is over before its end. */
  gone(reason: string): void {
    this.#controller.abort(new Error(`the request is over: ${reason}`));
    this.#arrived?.();
    this.#freed?.();
  }

  /** Serves the request, once. */
  serve(site: Site): void {
    if (this.#site !== undefined) return;
    this.#site = site;
    void this.#run(site)
      .catch((e: unknown) => {
        if (!this.#controller.signal.aborted) this.#port.refuse(e instanceof Error ? e.message : String(e));
      })
      .finally(() => this.#port.over());
  }

  async #next(): Promise<TunnelInner> {
    for (;;) {
      this.#controller.signal.throwIfAborted();
      const message = this.#in.shift();
      if (message !== undefined) {
        this.#port.took();
        return message;
      }
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }

  async #send(inner: TunnelInner): Promise<void> {
    for (;;) {
      this.#controller.signal.throwIfAborted();
      const result = this.#port.reply(inner);
      if (result === "sent") return;
      if (result === "over") throw new Error("the request is over");
      await new Promise<void>((resolve) => (this.#freed = resolve));
    }
  }

  async #run(site: Site): Promise<void> {
    const first = await this.#next();
    if (first.type === "RequestStart") await this.#answer(site, first);
    else if (first.type === "WebSocketOpen") await this.#open(site, first);
    else if (begins(first)) throw new Error("nobody serves that");
  }

  async #answer(site: Site, start: Extract<TunnelInner, { type: "RequestStart" }>): Promise<void> {
    if (site.fetch === undefined) throw new Error("the attempt serves no requests");
    const method = start.method ?? "GET";
    const init: RequestInit & { duplex?: string } = { method, headers: headersOf(start.headers), signal: this.#controller.signal };
    if (method !== "GET" && method !== "HEAD") {
      init.body = this.#body();
      init.duplex = "half";
    }
    const response = await site.fetch(new Request(urlOf(start.path, init.headers as Headers), init));
    const headers = [...response.headers].map(([name, value]) => ({ name, value }));
    await this.#send({ type: "ResponseStart", status: response.status, headers });
    if (method === "HEAD") await response.body?.cancel();
    else if (response.body !== null) await this.#copy(response.body);
    await this.#send({ type: "ResponseEnd" });
  }

  async #copy(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        for (let at = 0; at < part.value.length; at += chunk) {
          await this.#send({ type: "ResponseChunk", body: toBase64url(part.value.subarray(at, at + chunk)) });
        }
      }
    } catch (e) {
      await reader.cancel(e).catch(() => undefined); // it may be what has failed
      throw e;
    }
  }

  #body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>({
      pull: async (to) => {
        for (;;) {
          const m = await this.#next();
          if (m.type === "RequestEnd") {
            to.close();
            return;
          }
          if (m.type !== "RequestChunk") throw new Error(`a body has no ${m.type}`);
          const bytes = fromBase64url(m.body ?? "");
          if (bytes.length > 0) {
            to.enqueue(bytes);
            return;
          }
        }
      },
    }, { highWaterMark: 0 });
  }

  async #open(site: Site, open: Extract<TunnelInner, { type: "WebSocketOpen" }>): Promise<void> {
    if (site.webSocket === undefined) throw new Error("the attempt takes no WebSockets");
    const headers = headersOf(open.headers);
    const socket = new Socket((inner) => this.#send(inner));
    try {
      const protocol = await site.webSocket(socket, new Request(urlOf(open.path, headers), { headers, signal: this.#controller.signal }));
      await socket.begin(protocol ?? "");
      for (;;) {
        const m = await this.#next();
        if (m.type === "WebSocketClose") {
          socket.ended(m.code ?? 1005, m.reason ?? "");
          return;
        }
        if (m.type !== "WebSocketMessage") throw new Error(`a WebSocket has no ${m.type}`);
        const bytes = fromBase64url(m.data ?? "");
        await socket.onmessage?.(m.text === true ? new TextDecoder().decode(bytes) : bytes);
      }
    } catch (e) {
      socket.broken();
      throw e;
    }
  }
}

class Socket implements TunnelSocket {
  onmessage?: ((data: string | Uint8Array) => unknown) | undefined;
  onclose?: ((code: number, reason: string) => void) | undefined;
  readonly #reply: (inner: TunnelInner) => Promise<void>;
  #queue: Promise<void>; // of what is sent, in order
  #begin: (() => void) | undefined;
  #closing = false; // our close is sent, or about to be
  #over = false;

  constructor(reply: (inner: TunnelInner) => Promise<void>) {
    this.#reply = reply;
    this.#queue = new Promise((resolve) => (this.#begin = resolve));
  }

  /** Says that the socket is open; what was sent before follows. */
  async begin(protocol: string): Promise<void> {
    await this.#reply({ type: "WebSocketOpen", protocol });
    this.#begin?.();
  }

  send(data: string | Uint8Array): Promise<void> {
    if (this.#closing || this.#over) return Promise.reject(new Error("the socket is closed"));
    const text = typeof data === "string";
    return this.#put({ type: "WebSocketMessage", data: toBase64url(text ? new TextEncoder().encode(data) : data), text });
  }

  #put(inner: TunnelInner): Promise<void> {
    const sent = this.#queue.then(() => this.#reply(inner));
    this.#queue = sent.catch(() => undefined); // whoever has sent it hears of it
    return sent;
  }

  close(code = 1000, reason = ""): void {
    if (this.#closing || this.#over) return;
    this.#closing = true;
    void this.#put({ type: "WebSocketClose", code, reason }).catch(() => undefined); // it is over then
  }

  /** The other side has closed, or has answered our close. */
  ended(code: number, reason: string): void {
    this.close(code, reason);
    this.#over = true;
    this.onclose?.(code, reason);
  }

  broken(): void {
    if (this.#over) return;
    this.#over = true;
    this.onclose?.(1006, "");
  }
}

function headersOf(all: { name?: string; value?: string }[] | undefined): Headers {
  const headers = new Headers();
  for (const h of all ?? []) headers.append(h.name ?? "", h.value ?? "");
  return headers;
}

/** The URL that the client has asked for, as far as it is known. */
function urlOf(path: string | undefined, headers: Headers): string {
  return `http://${headers.get("host") || "attempt"}${path || "/"}`;
}

function toBase64url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
