// A runner that `heddle conformance runner` tries: all that it knows comes out of the environment.

import { defaultTimes, defineTask, KeysError, Runner, scaled, sleepUntil, StoppedError, TaskError } from "@heddle-run/runner";
import type { TunnelSocket } from "@heddle-run/runner";

const env = (name: string): string => process.env[name] ?? "";

const runner = new Runner({
  url: env("HEDDLE_RUNNER_URL"), pool: env("HEDDLE_RUNNER_POOL"), key: env("HEDDLE_RUNNER_KEY"), token: env("HEDDLE_RUNNER_TOKEN"),
  binary: env("HEDDLE_RUNNER_ENCODING") === "binary", slots: 16, times: scaled(defaultTimes, Number(env("HEDDLE_RUNNER_SCALE") || "1")), logger: console,
});

interface Failure {
  type: string;
  message: string;
  retryable: boolean;
  details?: unknown;
}

const sleep = (ms: number, signal?: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve("slept"), ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });

/** Answers requests of tunnels, as docs/runner-clients.md says. */
const answer = (request: Request): Response => {
  const { pathname, search } = new URL(request.url);
  if (pathname === "/stream") {
    return new Response(new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array(1000)) }));
  }
  const headers = { "x-method": request.method, "x-path": pathname + search, "x-own": request.headers.get("x-own") ?? "" };
  return new Response(request.body, { status: 201, headers });
};

const talk = (socket: TunnelSocket): string => {
  socket.onmessage = (data) => socket.send(data);
  return "talk";
};

runner
  .handle(defineTask<unknown, unknown>("conformance.echo"), (input) => input)
  .handle(defineTask<number, string>("conformance.sleep"), (ms, attempt) => sleep(ms, attempt.signal))
  .handle(defineTask<number, string>("conformance.stubborn"), (ms) => sleep(ms))
  .handle(defineTask<Failure, never>("conformance.fail"), ({ type, message, retryable, details }) => {
    throw new TaskError(type, message, { retryable, details });
  })
  .handle(defineTask<unknown, unknown>("conformance.crash"), () => {
    const nothing: unknown = undefined;
    return (nothing as { field: unknown }).field;
  })
  .handle(defineTask<unknown[], never>("conformance.beat"), (all, attempt) => {
    for (const details of all) attempt.heartbeat(details);
    throw new Error("no more");
  })
  .handle(defineTask<number, string>("conformance.serve"), (ms, attempt) => {
    attempt.serve({ fetch: answer, webSocket: talk });
    return sleep(ms, attempt.signal);
  })
  .handle(defineTask<unknown, unknown>("conformance.keys"), async (_, { keys }) => {
    try {
      await keys.put({ key: "a", value: 1 });
      return (await keys.get("a", "b"))[0]?.value;
    } catch (e) {
      throw e instanceof KeysError ? new TaskError(e.code, e.message) : e;
    }
  })
  .handle(defineTask<number, never>("conformance.park"), (ms) => sleepUntil(ms))
  .handle(defineTask<unknown, string>("conformance.resign"), async (_, attempt) => {
    attempt.askToStop();
    await new Promise<void>((resolve) => attempt.signal.addEventListener("abort", () => resolve()));
    return attempt.signal.reason instanceof StoppedError ? attempt.signal.reason.reason : "";
  });

process.on("SIGTERM", () => runner.stop());
process.on("SIGINT", () => runner.stopNow());

try {
  await runner.run();
  process.exit(0);
} catch (e) {
  console.error(String(e));
  process.exit(1);
}
