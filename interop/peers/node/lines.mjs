// The lines of interop/internal/line, for libraries in JavaScript.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import path from "node:path";

/** Loads an installed package. */
export const load = createRequire(path.join(process.env.HOLDFAST_INTEROP, "package.json"));

/** Pauses between two tries: 10 to 30 ms, so that tests do not wait for long. */
export const retryDelay = 20;
export const retryJitter = 10;

/** An answer that is no error. */
export class Answer extends Error {}
export const held = new Answer("held");
export const gone = new Answer("gone");

/** What the package says that it is. */
export const version = (name) => `${name} ${load(`./node_modules/${name}/package.json`).version}`;

/** Connects to each of the servers that are the arguments, and waits until they answer. */
export async function connect() {
  const Redis = load("ioredis");
  const clients = process.argv.slice(2).map((address) => {
    const [host, port] = address.split(":");
    return new Redis({ host, port: Number(port) });
  });
  await Promise.all(clients.map((client) => client.ping()));
  return clients;
}

/** Answers one line after the other. locks has lock, try, extend and unlock; what they throw is the answer. */
export async function serve(name, locks) {
  const lines = createInterface({ input: process.stdin });
  lines.on("close", () => process.exit(0)); // also while a lock is waited for
  let last = Promise.resolve();
  lines.on("line", (line) => {
    last = last.then(async () => {
      if (line === "quit") {
        process.stdout.write("ok\n", () => process.exit(0));
        return;
      }
      process.stdout.write(`${await perform(locks, line)}\n`);
    });
  });
  process.stdout.write(`ready ${version(name)}\n`);
}

async function perform(locks, line) {
  const [verb, name, ...times] = line.split(" ");
  try {
    if (!["lock", "try", "extend", "unlock"].includes(verb)) {
      throw new Error(`it does not know the command ${verb}`);
    }
    await locks[verb](decodeURIComponent(name), ...times.map(Number));
    return "ok";
  } catch (error) {
    if (error instanceof Answer) {
      return error.message;
    }
    return `error ${String(error).split(/\s+/).join(" ")}`;
  }
}

/** The holds of a peer, by name. */
export class Holds extends Map {
  take(name) {
    if (!this.has(name)) {
      throw new Error(`${name} was not locked`);
    }
    return this.get(name);
  }
}
