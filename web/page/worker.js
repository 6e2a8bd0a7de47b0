// The worker, which has the program: one function, since a page opened from a disk makes its worker of a text.
"use strict";

function rviWorker() {
  let rvi = null;
  const memory = (start, length) => new Uint8Array(rvi.memory.buffer, start, length);
  const say = (start, length) => postMessage({ step: JSON.parse(new TextDecoder().decode(memory(start, length))) });
  // A pointer of WebAssembly is a number that JavaScript takes for signed.
  const write = (which, bytes) => memory(rvi.rvi_room(which, bytes.length) >>> 0, bytes.length).set(bytes);
  onmessage = async ({ data }) => {
    try {
      if (data.program) {
        const made = await WebAssembly.instantiate(data.program, { env: { tell: (at, length) => say(at >>> 0, length) } });
        rvi = made.instance.exports;
      }
      write(0, new TextEncoder().encode(JSON.stringify(data.request)));
      write(1, new Uint8Array(data.file || 0));
      const length = rvi.rvi_call();
      postMessage({ answer: JSON.parse(new TextDecoder().decode(memory(rvi.rvi_answer() >>> 0, length))) });
    } catch (fault) {
      postMessage({ fault: String(fault) });
    }
  };
}
