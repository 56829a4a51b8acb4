// Both directions of a tunnelled request as one end has them: indexes, what is not acknowledged, windows. What is sent stays
// until the other end has taken it; what is received is acknowledged once it is taken here.

import { limits } from "./frames.js";
import type { ToServerTunnel, TunnelInner } from "./frames.js";

/** A message that stays until it is acknowledged. */
interface Sent {
  frame: ToServerTunnel;
  size: number;
}

/** What a message that was received is: the next one, one that came before, one behind a gap, or more than may be on its way. */
export type Verdict = "fresh" | "again" | "gap" | "flood";

const indexes = 1 << 16;

export class Stream {
  readonly id: string;
  #next = 0; // index of the next message that is sent
  #sent: Sent[] = [];
  #bytes = 0; // of their bodies

  #want = 0; // index of the next message that is received
  #waiting: number[] = []; // sizes of the messages that were received and not taken
  #held = 0; // their sum
  #since = 0; // messages that were taken since the last acknowledgement
  #freed = 0; // and the bytes of their bodies
  #hurry = false; // the other end is to know soon

  constructor(id: string) {
    this.id = id;
  }

  /** Whether a message with so many bytes of a body may be sent now. */
  room(size: number): boolean {
    return this.#sent.length === 0 || (this.#sent.length < limits.tunnelMessages && this.#bytes + size <= limits.tunnelWindow);
  }

  send(inner: TunnelInner): ToServerTunnel {
    const frame: ToServerTunnel = { type: "ToServerTunnel", requestId: this.id, messageIdx: this.#next, inner };
    const size = sizeOf(inner);
    this.#next = (this.#next + 1) % indexes;
    this.#sent.push({ frame, size });
    this.#bytes += size;
    return frame;
  }

  /** A message that has no index, and counts at once. */
  abort(reason: string): ToServerTunnel {
    return { type: "ToServerTunnel", requestId: this.id, messageIdx: 0, inner: { type: "ResponseAbort", reason } };
  }

  /** Takes an acknowledgement: "wrong" is one of what was not sent. */
  acked(last: number): "news" | "old" | "wrong" {
    const oldest = (this.#next - this.#sent.length + indexes) % indexes;
    const n = (last - oldest + 1 + indexes) % indexes; // of how many messages it is, around the end of all indexes
    if (n === 0 || n >= indexes / 2) return "old";
    if (n > this.#sent.length) return "wrong";
    for (const s of this.#sent.splice(0, n)) this.#bytes -= s.size;
    return "news";
  }

  /** Whether the other end has taken all that was sent. */
  get settled(): boolean {
    return this.#sent.length === 0;
  }

  /** Takes a message that is neither an abort nor an acknowledgement. */
  received(index: number, inner: TunnelInner): Verdict {
    const ahead = (index - this.#want + indexes) % indexes;
    if (ahead !== 0) return ahead < indexes / 2 ? "gap" : "again";
    const size = sizeOf(inner);
    const n = this.#waiting.length;
    if (n > limits.tunnelMessages || (n > 0 && !ends(inner) && (n >= limits.tunnelMessages || this.#held + size > limits.tunnelWindow))) return "flood";
    this.#want = (this.#want + 1) % indexes;
    this.#waiting.push(size);
    this.#held += size;
    this.#hurry ||= begins(inner) || ends(inner);
    return "fresh";
  }

  /** Notes that the oldest message that waits was taken; whether it is to be acknowledged now. */
  taken(): boolean {
    const size = this.#waiting.shift() ?? 0;
    this.#held -= size;
    this.#since++;
    this.#freed += size;
    return this.#since >= limits.tunnelMessages / 4 || this.#freed >= limits.tunnelWindow / 4 || (this.#hurry && this.#waiting.length === 0);
  }

  /** Acknowledges what was taken. */
  ack(): ToServerTunnel {
    this.#since = this.#freed = 0;
    this.#hurry &&= this.#waiting.length > 0;
    const lastMessageIdx = (this.#want - this.#waiting.length - 1 + 2 * indexes) % indexes;
    return { type: "ToServerTunnel", requestId: this.id, messageIdx: 0, inner: { type: "TunnelAck", lastMessageIdx } };
  }

  /** What is to be sent on another socket: all that is not acknowledged, and an acknowledgement. */
  again(): ToServerTunnel[] {
    return [...this.#sent.map((s) => s.frame), this.ack()];
  }
}

/** Whether a message begins a request. */
export function begins(inner: TunnelInner): boolean {
  return inner.type === "RequestStart" || inner.type === "WebSocketOpen";
}

/** Whether a message is the last one of its direction. */
export function ends(inner: TunnelInner): boolean {
  return inner.type === "RequestEnd" || inner.type === "ResponseEnd" || inner.type === "WebSocketClose";
}

/** How many bytes of a body a message carries. */
export function sizeOf(inner: TunnelInner): number {
  let text = "";
  if (inner.type === "RequestChunk" || inner.type === "ResponseChunk") text = inner.body ?? "";
  else if (inner.type === "WebSocketMessage") text = inner.data ?? "";
  return Math.floor((text.length * 3) / 4); // base64url without padding
}
