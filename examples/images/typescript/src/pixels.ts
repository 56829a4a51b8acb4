/** A picture: red, green, blue and alpha of each pixel, row by row, from 0 to 255. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/**
 * Gives a picture of a width in pixels, and of the height that keeps the proportions, rounded down but at least 1. Each pixel
 * is the mean of those that it stands for, as far as they are opaque. All is counted in integers: what comes out is the same
 * everywhere, and what package picture of the Go runner gives.
 */
export function scale(src: Pixels, width: number): Pixels {
  const height = Math.max(1, Math.floor((src.height * width) / src.width));
  const data = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      data.set(mean(src, span(x, src.width, width), span(y, src.height, height)), (y * width + x) * 4);
    }
  }
  return { width, height, data };
}

type Span = readonly [from: number, to: number];

/** The pixels that number n of so many stands for: at least one. */
function span(n: number, from: number, to: number): Span {
  const first = Math.floor((n * from) / to);
  return [first, Math.max(Math.floor(((n + 1) * from) / to), first + 1)];
}

/** The mean of the pixels of a part; a pixel counts as much as it is opaque. */
function mean(p: Pixels, [left, right]: Span, [top, bottom]: Span): [number, number, number, number] {
  let r = 0, g = 0, b = 0, a = 0;
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      const at = (y * p.width + x) * 4;
      const alpha = p.data[at + 3]!;
      r += p.data[at]! * alpha;
      g += p.data[at + 1]! * alpha;
      b += p.data[at + 2]! * alpha;
      a += alpha;
    }
  }
  if (a === 0) return [0, 0, 0, 0];
  return [rounded(r, a), rounded(g, a), rounded(b, a), rounded(a, (right - left) * (bottom - top))];
}

function rounded(sum: number, count: number): number {
  return Math.floor((sum + Math.floor(count / 2)) / count);
}

/** Tells pictures apart by their pixels, however they are compressed: CRC-32 of red, green, blue and alpha of each. */
export function sum(p: Pixels): string {
  return crc32(p.data).toString(16).padStart(8, "0");
}

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  return c;
});

/** CRC-32, as PNG has it. */
export function crc32(bytes: Uint8Array): number {
  let c = 0xffffffff;
  for (const b of bytes) c = table[(c ^ b) & 255]! ^ (c >>> 8);
  return ~c >>> 0;
}
