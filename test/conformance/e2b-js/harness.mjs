import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { watchCalls } from "../results/watch-calls.mjs";
import { writeResults } from "../results/write-results.mjs";

const CHECK_TIMEOUT_MS = 60_000;

/**
 * Run named checks one after the other; prints each failure with its reason, then the score. Returns whether all passed. The results say which
 * methods of the clients each check called; a client without methods, such as a program, is not named.
 */
export async function runChecks(suite, groups, clients = []) {
  const only = process.env.CONFORMANCE_ONLY;
  let passed = 0;
  let total = 0;
  const calls = await watchCalls(clients);
  const results = [];
  const record = async (name, reason) => {
    if (clients.length === 0) results.push({ name, operations: [], reason });
    for (const [client, called] of (await calls.take()).entries()) {
      if (called.size > 0 || client === 0) results.push({ client, name, operations: [...called].sort(), reason });
    }
  };
  for (const { title, setUp, tearDown, checks } of groups) {
    const wanted = Object.entries(checks).filter(([name]) => !only || `${title}: ${name}`.includes(only));
    if (wanted.length === 0) continue;
    total += wanted.length;
    let context;
    await calls.take();
    try {
      context = await within(setUp?.() ?? {});
      await record(`${title}: the preparation`);
    } catch (error) {
      await record(`${title}: the preparation`, describeError(error));
      console.log(`FAIL ${title}: the preparation of ${wanted.length} checks failed: ${describeError(error)}`);
      continue;
    }
    for (const [name, check] of wanted) {
      let reason;
      try {
        await within(check(context));
        passed += 1;
      } catch (error) {
        reason = describeError(error);
        console.log(`FAIL ${title}: ${name}: ${reason}`);
      }
      await record(`${title}: ${name}`, reason);
    }
    await within(tearDown?.(context)).catch((error) => console.log(`clean-up of ${title} failed: ${describeError(error)}`));
  }
  calls.stop();
  writeResults(suite, clients, results);
  console.log(`conformance ${suite}: ${passed} of ${total}`);
  return passed === total;
}

async function within(work) {
  const abort = new AbortController();
  const late = sleep(CHECK_TIMEOUT_MS, undefined, { signal: abort.signal }).then(() => {
    throw new Error(`no end within ${CHECK_TIMEOUT_MS} ms`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    abort.abort();
  }
}

function describeError(error) {
  if (!(error instanceof Error)) return String(error);
  const at = error.stack
    ?.split("\n")
    .find((line) => line.includes("/checks/"))
    ?.replace(/^.*\/checks\//, "");
  return `${error.name}: ${error.message.replaceAll("\n", " ")}${at ? ` (${at.replace(/\)$/, "")})` : ""}`;
}

/** Wait until `probe` gives something truthy; `what` says what is missing, as text or as a function that looks at the end. */
export async function until(probe, what, timeoutMs = 15_000) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${typeof what === "function" ? what() : what} did not happen within ${timeoutMs} ms`);
    await sleep(20);
  }
}

/** Assert that `work` rejects with an error of the class `name`, which says something that matches `message`. */
export async function rejectsWith(work, name, message = /./) {
  const error = await Promise.resolve(work).then(
    (value) => assert.fail(`expected ${name}, got the value ${JSON.stringify(value)}`),
    (reason) => reason,
  );
  assert.equal(error.name, name, `${error.name}: ${error.message}`);
  assert.match(error.message, message);
  return error;
}

export function textOf(bytes) {
  return new TextDecoder().decode(bytes);
}

export async function bytesOfStream(stream) {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
