export { pending, Sleep, sleepUntil } from "./attempt.js";
export type { Attempt, Entry, Keys, ListOptions } from "./attempt.js";
export { EvictedError, KeysError, StoppedError, TaskError, URLError } from "./errors.js";
export { defineTask, Runner } from "./runner.js";
export type { Handler, Logger, Options, Task } from "./runner.js";
export type { Site, TunnelSocket } from "./site.js";
export { defaultTimes, scaled } from "./times.js";
export type { Times } from "./times.js";
export type * as frames from "./frames.js";
