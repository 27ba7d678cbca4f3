// node-redlock 5 behind the lines of interop/internal/line.
import { setTimeout as pause } from "node:timers/promises";

import { connect, gone, held, Holds, load, retryDelay, retryJitter, serve } from "./lines.mjs";

const { default: Redlock, ExecutionError, ResourceLockedError } = load("redlock5");
const redlock = new Redlock(await connect());
const holds = new Holds();
const once = { retryCount: 0 };

async function ask(answer, question) {
  try {
    return await question();
  } catch (error) {
    throw (await troubleOf(error)) ?? answer;
  }
}

// troubleOf is what else than a lock that is held, or gone, was the matter at the last try.
async function troubleOf(error) {
  if (!(error instanceof ExecutionError)) {
    return error;
  }
  const stats = await error.attempts.at(-1);
  return [...(stats?.votesAgainst.values() ?? [])].find((vote) => !(vote instanceof ResourceLockedError));
}

const locks = {
  // It asks again by itself, because node-redlock 5 must not: between two tries of its own it keeps the votes of the first, and
  // the nodes that gave them refuse it at the second. Two of them on three nodes can so block each other, and everybody else, until a
  // TTL is over. An acquire that tries once gives its votes back.
  async lock(name, ttl, wait) {
    for (const end = performance.now() + wait; ; ) {
      try {
        return await locks.try(name, ttl);
      } catch (error) {
        if (error !== held || performance.now() > end) {
          throw error;
        }
      }
      await pause(retryDelay + (Math.random() * 2 - 1) * retryJitter);
    }
  },
  async try(name, ttl) {
    holds.set(name, await ask(held, () => redlock.acquire([name], ttl, once)));
  },
  async extend(name, ttl) {
    holds.set(name, await ask(gone, () => redlock.extend(holds.take(name), ttl, once)));
  },
  async unlock(name) {
    const hold = holds.take(name);
    holds.delete(name);
    await ask(gone, () => redlock.release(hold, once));
  },
};

await serve("redlock5", locks);
