// What people write first: tasks that wait are in a Map, and a callback ends the one that it names.
"use strict";
const { serve } = require("./server.cjs");

const pending = new Map();
let kept = 0;

serve({
  keep(provider, { id, code }) {
    const task = pending.get(id);
    if (task === undefined) return; // nobody waits for it, or it has come before
    pending.delete(id);
    task.resolve(code);
    kept += 1;
  },
  kept: () => kept,
  expect(first, count) {
    pending.clear();
    for (let id = first; id < first + count; id += 1) {
      pending.set(String(id), { since: Date.now(), resolve() {} });
    }
  },
});
