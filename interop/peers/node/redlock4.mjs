// node-redlock 4 behind the lines of interop/internal/line.
import { connect, gone, held, Holds, load, retryDelay, retryJitter, serve } from "./lines.mjs";

const Redlock = load("redlock4");
const clients = await connect();
const holds = new Holds();

// A try is a Redlock of its own: lockWithOptions takes a retryCount of 0 for none that was given.
const once = make(0);

function make(retryCount) {
  const redlock = new Redlock(clients, { retryCount, retryDelay, retryJitter });
  redlock.on("clientError", (error) => {
    redlock.trouble = error; // a LockError does not tell a server that is out of reach from a lock that is held
  });
  return redlock;
}

async function ask(redlock, answer, question) {
  redlock.trouble = undefined;
  try {
    return await question();
  } catch (error) {
    throw redlock.trouble ?? (error instanceof Redlock.LockError ? answer : error);
  }
}

await serve("redlock4", {
  async lock(name, ttl, wait) {
    const redlock = make(Math.ceil(wait / retryDelay));
    holds.set(name, await ask(redlock, held, () => redlock.lock(name, ttl)));
  },
  async try(name, ttl) {
    holds.set(name, await ask(once, held, () => once.lock(name, ttl)));
  },
  async extend(name, ttl) {
    const hold = holds.take(name);
    await ask(once, gone, () => once.extend(hold, ttl));
  },
  async unlock(name) {
    const hold = holds.take(name);
    holds.delete(name);
    await ask(once, gone, () => once.unlock(hold));
  },
});
