// Frames as Protocol Buffers, by the schema: binary frames are the messages of runner.proto.

import type { FrameToClient, FrameToServer } from "./frames.js";
import { schema } from "./schema.js";
import type { Field, Shape } from "./schema.js";

export type Name = keyof typeof schema;
type Fields = Record<string, unknown>;

/** The binary frame of a message to the server. */
export function encode(frame: FrameToServer): Uint8Array<ArrayBuffer> {
  return pack("FrameToServer", frame);
}

/** Reads a binary frame of the server. Throws an Error where it is none. */
export function decode(bytes: Uint8Array): FrameToClient {
  const frame = unpack("FrameToClient", bytes);
  if (frame === undefined) throw new Error("it has no message");
  return frame as FrameToClient;
}

/** Writes a message of any shape. */
export function pack(name: Name, message: unknown): Uint8Array<ArrayBuffer> {
  const out = new Writer();
  write(out, shapeOf(name), message as Fields);
  return out.done();
}

/** Reads a message of any shape; undefined: it has members, and none that is known. */
export function unpack(name: Name, bytes: Uint8Array): unknown {
  return read(shapeOf(name), bytes);
}

function shapeOf(name: string): Shape {
  return schema[name as Name];
}

const varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5; // wire types
const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// Writing.

function write(out: Writer, shape: Shape, message: Fields): void {
  if (shape.members !== undefined) {
    const member = shape.members.find((m) => m.type === message.type);
    if (member === undefined) throw new Error(`no message has the type ${String(message.type)}`);
    out.bytes(member.number, pack(member.of as Name, message));
    return;
  }
  for (const f of shape.fields ?? []) {
    const value = message[f.name];
    if (value === undefined || (value === null && f.kind !== "value")) continue;
    if (f.list === true) for (const one of value as unknown[]) writeOne(out, f, one);
    else if (!isAbsent(f, value)) writeOne(out, f, value);
  }
}

/** Whether a value is what a reader takes a field for that is not there. */
function isAbsent(f: Field, value: unknown): boolean {
  switch (f.kind) {
    case "integer": return value === 0 && f.absent !== null;
    case "boolean": return value === false;
    case "default": return value === true;
    case "text": case "bytes": return value === "";
    default: return false;
  }
}

function writeOne(out: Writer, f: Field, value: unknown): void {
  switch (f.kind) {
    case "integer": case "boolean": case "default": return out.integer(f.number, Number(value));
    case "text": return out.bytes(f.number, utf8.encode(value as string));
    case "bytes": return out.bytes(f.number, fromBase64(value as string));
    case "value": return out.bytes(f.number, utf8.encode(json(value)));
    case "object": return out.bytes(f.number, pack(f.of as Name, value));
    case "pairs":
      for (const [key, one] of Object.entries(value as Fields)) {
        const pair = new Writer();
        if (key !== "") pair.bytes(1, utf8.encode(key));
        pair.bytes(2, utf8.encode(json(one)));
        out.bytes(f.number, pair.done());
      }
  }
}

/** JSON of a value, null where it has none, as within an array. */
function json(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

class Writer {
  #buffer = new Uint8Array(256);
  #size = 0;

  done(): Uint8Array<ArrayBuffer> {
    return this.#buffer.slice(0, this.#size);
  }

  integer(number: number, value: number): void {
    this.#varint(number << 3 | varint);
    if (value >= 0) this.#varint(value);
    else for (let v = BigInt.asUintN(64, BigInt(value)), i = 0; i < 10; i++, v >>= 7n) this.#byte(Number(v & 127n) | (i < 9 ? 128 : 0));
  }

  bytes(number: number, value: Uint8Array): void {
    this.#varint(number << 3 | delimited);
    this.#varint(value.length);
    this.#room(value.length);
    this.#buffer.set(value, this.#size);
    this.#size += value.length;
  }

  #varint(value: number): void {
    for (; value >= 128; value = Math.floor(value / 128)) this.#byte(value % 128 | 128);
    this.#byte(value);
  }

  #byte(b: number): void {
    this.#room(1);
    this.#buffer[this.#size++] = b;
  }

  #room(more: number): void {
    if (this.#size + more <= this.#buffer.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#buffer.length, this.#size + more));
    larger.set(this.#buffer);
    this.#buffer = larger;
  }
}

// Reading.

function read(shape: Shape, bytes: Uint8Array): Fields | undefined {
  if (shape.members !== undefined) return readMember(shape, bytes);
  const out: Fields = {};
  for (const f of shape.fields ?? []) if (f.absent !== undefined) out[f.name] = f.absent;
  each(bytes, (number, value) => {
    const f = shape.fields?.find((one) => one.number === number); // what a newer server says is passed
    if (f === undefined) return;
    if (f.kind === "pairs") setPair((out[f.name] ??= Object.create(null)) as Fields, delimitedBy(value));
    else if (f.list === true) ((out[f.name] ??= []) as unknown[]).push(readOne(f, value));
    else out[f.name] = readOne(f, value);
  });
  return out;
}

function readMember(shape: Shape, bytes: Uint8Array): Fields | undefined {
  let out: Fields | undefined;
  each(bytes, (number, value) => {
    const member = shape.members?.find((m) => m.number === number);
    if (member !== undefined) out = { type: member.type, ...read(shapeOf(member.of), delimitedBy(value)) };
  });
  return out;
}

function readOne(f: Field, value: number | Uint8Array): unknown {
  switch (f.kind) {
    case "integer": case "boolean": case "default":
      if (typeof value !== "number") throw new Error(`field ${f.name} is no integer`);
      return f.kind === "integer" ? value : value !== 0;
    case "text": return text.decode(delimitedBy(value));
    case "bytes": return toBase64(delimitedBy(value));
    case "value": return readJSON(delimitedBy(value));
    default: return read(shapeOf(f.of ?? ""), delimitedBy(value));
  }
}

function setPair(all: Fields, bytes: Uint8Array): void {
  let key = "";
  let of: unknown = null;
  each(bytes, (number, value) => {
    if (number === 1) key = text.decode(delimitedBy(value));
    else if (number === 2) of = readJSON(delimitedBy(value));
  });
  all[key] = of;
}

function readJSON(bytes: Uint8Array): unknown {
  return bytes.length === 0 ? null : JSON.parse(text.decode(bytes));
}

function delimitedBy(value: number | Uint8Array): Uint8Array {
  if (typeof value === "number") throw new Error("an integer stands where bytes should");
  return value;
}

/** Goes through the fields of a message. */
function each(bytes: Uint8Array, f: (number: number, value: number | Uint8Array) => void): void {
  const from = new Reader(bytes);
  while (!from.ended) {
    const tag = from.varint();
    const number = Math.floor(tag / 8);
    switch (tag % 8) {
      case varint: f(number, from.varint()); break;
      case delimited: f(number, from.take(from.varint())); break;
      case fixed64: from.take(8); break;
      case fixed32: from.take(4); break;
      default: throw new Error(`field ${number} has the wire type ${tag % 8}`);
    }
  }
}

class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get ended(): boolean { return this.#at >= this.#bytes.length; }

  /** An integer of 64 bits with its sign. Beyond 2^53 it is rounded, as in JSON. */
  varint(): number {
    let value = 0;
    for (let i = 0; i < 7; i++) {
      const b = this.#byte();
      value += (b & 127) * 2 ** (7 * i);
      if (b < 128) return value;
    }
    let long = BigInt(value);
    for (let i = 7; i < 10; i++) {
      const b = this.#byte();
      long |= BigInt(b & 127) << BigInt(7 * i);
      if (b < 128) return Number(BigInt.asIntN(64, long));
    }
    throw new Error("an integer is too long");
  }

  #byte(): number {
    const b = this.#bytes[this.#at++];
    if (b === undefined) throw new Error("it ends within an integer");
    return b;
  }

  take(size: number): Uint8Array {
    if (size < 0 || size > this.#bytes.length - this.#at) throw new Error("it ends within a field");
    return this.#bytes.subarray(this.#at, this.#at += size);
  }
}

// Bytes are base64url without padding in JSON.

function toBase64(bytes: Uint8Array): string {
  let all = "";
  for (let at = 0; at < bytes.length; at += 4096) all += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return btoa(all).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64(encoded: string): Uint8Array {
  return Uint8Array.from(atob(encoded.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}
