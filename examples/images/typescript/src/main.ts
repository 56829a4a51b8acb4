// A runner that makes thumbnails of the pictures of a directory, as the one in Go beside it: main.js PICTURES THUMBNAILS

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { defineTask, Runner, TaskError } from "@heddle-run/runner";
import { scale, sum } from "./pixels.js";
import { decode, encode } from "./png.js";

interface Order {
  picture: string; // name of a file
  width: number; // of the thumbnail, in pixels
}

interface Made extends Order {
  height: number;
  sum: string; // of its pixels
  by: string; // the language of the runner
}

const thumbnail = defineTask<Order, Made>("images.thumbnail");

const [pictures = "pictures", thumbnails = "thumbnails"] = process.argv.slice(2);
await mkdir(thumbnails, { recursive: true });

const env = process.env;
const runner = new Runner({
  url: env.HEDDLE_RUNNER_URL ?? "http://127.0.0.1:4080", // where `heddle dev` is, if the port was free
  pool: env.HEDDLE_RUNNER_POOL ?? "thumbs",
  key: env.HEDDLE_RUNNER_KEY ?? `typescript-${process.pid}`,
  token: env.HEDDLE_RUNNER_TOKEN ?? "",
  slots: 4,
  logger: console,
});

/** It may run again, and beside itself: the file is there once it is whole, and is the same each time. */
runner.handle(thumbnail, async ({ picture, width }) => {
  if (!Number.isInteger(width) || width < 1) throw new TaskError("bad_order", `the width is ${width}, want 1 or more`, { retryable: false });
  if (basename(picture) !== picture || picture.startsWith(".")) throw new TaskError("bad_order", `${picture} is no name of a picture`, { retryable: false });
  const small = scale(read(picture, await load(picture)), width);
  const part = join(thumbnails, `.${picture}.${crypto.randomUUID()}`);
  await writeFile(part, encode(small));
  await rename(part, join(thumbnails, picture));
  return { picture, width, height: small.height, sum: sum(small), by: "typescript" };
});

async function load(picture: string): Promise<Buffer> {
  try {
    return await readFile(join(pictures, picture));
  } catch (e) {
    const absent = e instanceof Error && "code" in e && e.code === "ENOENT";
    throw absent ? new TaskError("no_picture", e.message, { retryable: false }) : e;
  }
}

function read(picture: string, file: Buffer): ReturnType<typeof decode> {
  try {
    return decode(file);
  } catch (e) {
    throw new TaskError("bad_picture", `${picture}: ${String(e)}`, { retryable: false });
  }
}

process.on("SIGTERM", () => runner.stop());
process.on("SIGINT", () => runner.stop());
await runner.run();
