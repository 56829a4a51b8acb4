// Reads and writes binary frames as the TypeScript SDK does. Each line of the input is {frame, json, binary}: the name of the message,
// the message as JSON has it, and its bytes in hexadecimal. It prints what is not as there, and how many it has tried.
import { isDeepStrictEqual } from "node:util";
import { pack, unpack } from "../../sdk/typescript/dist/binary.js";

const plain = (value) => JSON.parse(JSON.stringify(value));
let all = "";
for await (const part of process.stdin) all += part;
const lines = all.trim().split("\n").map((line) => JSON.parse(line));
for (const { frame, json, binary } of lines) {
  const bytes = new Uint8Array(Buffer.from(binary, "hex"));
  const written = Buffer.from(pack(frame, json)).toString("hex");
  if (written !== binary) console.log(`${frame} ${JSON.stringify(json)} is written as ${written}, want ${binary}`);
  const read = plain(unpack(frame, bytes));
  if (!isDeepStrictEqual(read, json)) console.log(`${frame} ${binary} is read as ${JSON.stringify(read)}, want ${JSON.stringify(json)}`);
  for (let end = 1; end < bytes.length; end++) {
    try {
      unpack(frame, bytes.subarray(0, end)); // what ends where a field ends can be read
    } catch (e) {
      if (!(e instanceof Error)) throw e;
    }
  }
}
const newer = [ // fields and members that a later server may have
  ["FrameToClient", "22080802a20601782005", { type: "ToClientPong", ts: 2 }], ["FrameToClient", "fa3f00", undefined], ["CommandInner", "5a00", undefined],
];
for (const [frame, binary, want] of newer) {
  const read = unpack(frame, new Uint8Array(Buffer.from(binary, "hex")));
  if (!isDeepStrictEqual(read === undefined ? read : plain(read), want)) console.log(`${frame} ${binary} is read as ${JSON.stringify(read)}`);
}
const wrong = ["22020880", "2202", "2208", "2003", "22020a00", "220b08ffffffffffffffffffff01", "1b", "0a030a01ff", "0a04120108"];
for (const binary of wrong) {
  try {
    console.log(`FrameToClient ${binary} is read as ${JSON.stringify(unpack("FrameToClient", new Uint8Array(Buffer.from(binary, "hex"))))}`);
  } catch (e) {
    if (!(e instanceof Error)) throw e;
  }
}
console.log(`${lines.length} frames`);
