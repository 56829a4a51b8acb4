// The requests of clients of the gateway to attempts that run here, as the session has them.

import { limits } from "./frames.js";
import type { FrameToServer, ToClientTunnel, TunnelInner } from "./frames.js";
import { begins, ends, sizeOf, Stream } from "./stream.js";

/** What is to be done for a request. */
export type VisitAction =
  | { do: "serve"; request: string; token: string; message: TunnelInner }
  | { do: "room"; request: string }
  | { do: "gone"; request: string; reason: string };

interface Visit {
  stream: Stream;
  token: string;
  heard: number; // of the gateway
  said: boolean; // the answer has been sent to its end
  talks: boolean; // it is a WebSocket, which its client has not closed
}

/** How many requests that are over are known: a request begins once. */
const remembered = 1000;

/** How many characters are known of why each of them was ended. */
const maxReason = 200;

/** How many milliseconds a gateway may be silent while there is a socket. */
const gatewayGone = 60_000;

export class Visits {
  #open = new Map<string, Visit>();
  #over = new Map<string, string>(); // why it was ended before its end; "": the gateway has all of the answer, or has ended it
  readonly #do: (a: VisitAction) => void;
  readonly #send: (f: FrameToServer) => void;
  readonly #runs: (token: string) => boolean;

  /** send sends a frame if there is a socket. */
  constructor(act: (a: VisitAction) => void, send: (f: FrameToServer) => void, runs: (token: string) => boolean) {
    this.#do = act;
    this.#send = send;
    this.#runs = runs;
  }

  /** A message of a gateway. */
  receive(now: number, t: ToClientTunnel): void {
    const id = t.requestId ?? "";
    const inner = t.inner;
    if (inner === undefined) return;
    const one = this.#open.get(id);
    if (one === undefined) {
      this.#begin(now, id, t.messageIdx, inner);
      return;
    }
    one.heard = now;
    if (inner.type === "TunnelAck") this.#acked(one, inner.lastMessageIdx);
    else if (inner.type === "RequestAbort") {
      this.#forget(one, "");
      this.#do({ do: "gone", request: id, reason: inner.reason ?? "" });
    }
    else if (inner.type.startsWith("Response")) this.#abort(one, "a client does not send that");
    else this.#take(one, t.messageIdx, inner);
  }

  #begin(now: number, id: string, index: number, inner: TunnelInner): void {
    const was = this.#over.get(id);
    if (inner.type === "RequestAbort" || was === "") return;
    const stream = new Stream(id);
    const token = inner.type === "RequestStart" || inner.type === "WebSocketOpen" ? (inner.token ?? "") : "";
    if (was !== undefined) this.#send(stream.abort(was)); // that may have been lost with a socket
    else if (!begins(inner) || index !== 0) this.#send(stream.abort("the runner does not have the request any more"));
    else if (!this.#runs(token)) this.#send(stream.abort("the attempt does not run here"));
    else if (this.#open.size >= limits.maxTunnels) this.#send(stream.abort("the runner serves too many requests"));
    else {
      const one = { stream, token, heard: now, said: false, talks: false };
      this.#open.set(id, one);
      this.#take(one, index, inner);
    }
  }

  #take(one: Visit, index: number, message: TunnelInner): void {
    const verdict = one.stream.received(index, message);
    if (verdict === "fresh") {
      this.#do({ do: "serve", request: one.stream.id, token: one.token, message });
      if (message.type === "WebSocketOpen") one.talks = true;
      if (message.type === "WebSocketClose") {
        one.talks = false;
        this.#settle(one);
      }
    } else if (verdict === "again") this.#send(one.stream.ack());
    else if (verdict === "flood") this.#abort(one, "the other end sends more than it may have on its way");
  }

  #acked(one: Visit, last: number): void {
    const news = one.stream.acked(last);
    if (news === "wrong") this.#abort(one, "the other end acknowledges what was not sent");
    else if (!this.#settle(one) && news === "news") this.#do({ do: "room", request: one.stream.id });
  }

  /** Forgets a request of which nothing is to be said or heard any more, and says whether it has. */
  #settle(one: Visit): boolean {
    const over = one.said && one.stream.settled && !one.talks;
    if (over) this.#forget(one, "");
    return over;
  }

  #forget(one: Visit, reason: string): void {
    this.#open.delete(one.stream.id);
    this.#over.set(one.stream.id, reason.slice(0, maxReason));
    if (this.#over.size > remembered) {
      for (const oldest of this.#over.keys()) {
        this.#over.delete(oldest);
        break;
      }
    }
  }

  /** The end of a request of which the gateway needs to hear nothing. */
  #end(one: Visit, reason: string): void {
    this.#forget(one, reason);
    this.#do({ do: "gone", request: one.stream.id, reason });
  }

  #abort(one: Visit, reason: string): void {
    this.#send(one.stream.abort(reason));
    this.#end(one, reason);
  }

  /** An attempt has ended. Answers that were sent whole stay until the gateway has them. */
  ended(token: string): void {
    for (const one of [...this.#open.values()]) {
      if (one.token === token && !one.said) this.#abort(one, "the attempt has ended");
    }
  }

  /** All requests are over: with a word to their gateways, or without, where they would not believe it. */
  endAll(reason: string, tell: boolean): void {
    for (const one of [...this.#open.values()]) {
      if (tell) this.#abort(one, reason);
      else this.#end(one, reason);
    }
  }

  /** There is another socket: what the gateway may have missed is sent again. */
  resume(now: number): void {
    for (const one of this.#open.values()) {
      one.heard = now;
      for (const f of one.stream.again()) this.#send(f);
    }
  }

  /** Ends the requests whose gateways are gone. */
  wake(now: number): void {
    for (const one of [...this.#open.values()]) {
      if (now >= one.heard + gatewayGone) this.#abort(one, "nothing was heard of the gateway for too long");
    }
  }

  /** When wake is due; Infinity: nothing is. */
  next(): number {
    let next = Infinity;
    for (const one of this.#open.values()) next = Math.min(next, one.heard + gatewayGone);
    return next;
  }

  /** Sends a message of an answer: "full" is that there is no room until an action says so, "over" that the request is over. */
  reply(id: string, inner: TunnelInner): "sent" | "full" | "over" {
    const one = this.#open.get(id);
    if (one === undefined || one.said) return "over";
    if (!ends(inner) && !one.stream.room(sizeOf(inner))) return "full";
    one.said = ends(inner);
    this.#send(one.stream.send(inner));
    return "sent";
  }

  /** The oldest message of a request that was served, and not taken yet, has been. */
  took(id: string): void {
    const one = this.#open.get(id);
    if (one?.stream.taken()) this.#send(one.stream.ack());
  }

  /** Ends a request before its end. */
  refuse(id: string, reason: string): void {
    const one = this.#open.get(id);
    if (one !== undefined) this.#abort(one, reason);
  }
}
