import { deflateSync, inflateSync } from "node:zlib";
import { crc32 } from "./pixels.js";
import type { Pixels } from "./pixels.js";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const mostPixels = 1 << 24;

/** Bytes of a pixel by the colour type: gray, colours, gray and alpha, colours and alpha. */
const channels: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 };

/** Reads a PNG of 8 bits a channel, without palette and not interlaced. Throws an Error that says what is wrong. */
export function decode(file: Buffer): Pixels {
  if (!file.subarray(0, 8).equals(signature)) throw new Error("it is no PNG");
  const parts: Buffer[] = [];
  let head: Buffer | undefined;
  for (let at = 8; at < file.length; ) {
    const size = file.readUInt32BE(at);
    const type = file.toString("latin1", at + 4, at + 8);
    const body = file.subarray(at + 8, at + 8 + size);
    if (body.length < size || file.readUInt32BE(at + 8 + size) !== crc32(file.subarray(at + 4, at + 8 + size))) throw new Error(`its part ${type} is damaged`);
    if (type === "IHDR") head = body;
    else if (type === "IDAT") parts.push(body);
    else if (type === "IEND") break;
    at += size + 12;
  }
  if (head === undefined || head.length !== 13) throw new Error("it has no header");
  const width = head.readUInt32BE(0);
  const height = head.readUInt32BE(4);
  const count = channels[head[9]!];
  if (head[8] !== 8 || count === undefined || head[12] !== 0) throw new Error("it has a palette, is interlaced or has not 8 bits a channel");
  if (width < 1 || height < 1 || width * height > mostPixels) throw new Error(`it has ${width} by ${height} pixels`);
  const size = (width * count + 1) * height;
  const lines = inflateSync(Buffer.concat(parts), { maxOutputLength: size });
  if (lines.length < size) throw new Error("lines are missing");
  return { width, height, data: straight(unfiltered(lines, width * count, height, count), count) };
}

/** Takes back what was done to each line so that it compresses better: a byte is told by its difference to neighbours. */
function unfiltered(lines: Buffer, stride: number, height: number, count: number): Uint8Array {
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x >= count ? out[at - count]! : 0;
      const up = y > 0 ? out[at - stride]! : 0;
      const corner = x >= count && y > 0 ? out[at - stride - count]! : 0;
      out[at] = lines[at + y + 1]! + predicted(filter, left, up, corner);
    }
  }
  return out;
}

function predicted(filter: number, left: number, up: number, corner: number): number {
  switch (filter) {
    case 0: return 0;
    case 1: return left;
    case 2: return up;
    case 3: return (left + up) >> 1;
    case 4: {
      const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
      return a <= b && a <= c ? left : b <= c ? up : corner;
    }
    default: throw new Error(`a line has the filter ${filter}`);
  }
}

/** Gives each pixel four channels. */
function straight(data: Uint8Array, count: number): Uint8Array {
  if (count === 4) return data;
  const out = new Uint8Array((data.length / count) * 4);
  for (let from = 0, to = 0; from < data.length; from += count, to += 4) {
    const gray = count < 3;
    out[to] = data[from]!;
    out[to + 1] = data[gray ? from : from + 1]!;
    out[to + 2] = data[gray ? from : from + 2]!;
    out[to + 3] = count === 2 ? data[from + 1]! : 255;
  }
  return out;
}

/** Writes a PNG with colours and alpha. */
export function encode({ width, height, data }: Pixels): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 6], 8);
  const lines = Buffer.alloc((width * 4 + 1) * height); // each begins with 0, as it has no filter
  for (let y = 0; y < height; y++) lines.set(data.subarray(y * width * 4, (y + 1) * width * 4), y * (width * 4 + 1) + 1);
  return Buffer.concat([signature, part("IHDR", head), part("IDAT", deflateSync(lines)), part("IEND", Buffer.alloc(0))]);
}

function part(type: string, body: Buffer): Buffer {
  const out = Buffer.alloc(body.length + 12);
  out.writeUInt32BE(body.length, 0);
  out.write(type, 4, "latin1");
  out.set(body, 8);
  out.writeUInt32BE(crc32(out.subarray(4, body.length + 8)), body.length + 8);
  return out;
}
