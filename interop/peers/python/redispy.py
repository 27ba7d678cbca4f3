"""redis-py's Lock behind the lines of interop/internal/line."""

import os
import queue
import random
import sys
import threading
import urllib.parse

import redis
from redis.exceptions import LockError, LockNotOwnedError
from redis.lock import Lock


class Held(Exception):
    """The lock is somebody else's."""


class Peer:
    def __init__(self, address):
        host, port = address.split(":")
        self.client = redis.Redis(host=host, port=int(port))
        self.client.ping()
        self.held = {}

    def lock(self, name, ttl, wait):
        self._keep(name, ttl, blocking_timeout=wait / 1000)

    def try_(self, name, ttl):
        self._keep(name, ttl, blocking=False)

    def _keep(self, name, ttl, **how):
        # The pause between two tries: 10 to 30 ms, so that tests do not wait for long.
        lock = Lock(self.client, name, timeout=ttl / 1000 or None, sleep=random.uniform(0.01, 0.03))
        if not lock.acquire(**how):
            raise Held
        self.held[name] = lock

    def extend(self, name, ttl):
        self._take(name).extend(ttl / 1000, replace_ttl=True)

    def unlock(self, name):
        lock = self._take(name)
        del self.held[name]
        lock.release()

    def _take(self, name):
        if name not in self.held:
            raise ValueError(f"{name} was not locked")
        return self.held[name]


def perform(peer, line):
    verb, name, *times = line.split(" ")
    commands = {"lock": peer.lock, "try": peer.try_, "extend": peer.extend, "unlock": peer.unlock}
    try:
        if verb not in commands:
            raise ValueError(f"it does not know the command {verb}")
        commands[verb](urllib.parse.unquote(name), *map(int, times))
    except Held:
        return "held"
    except LockNotOwnedError:
        return "gone"
    except (LockError, redis.RedisError, TypeError, ValueError) as error:
        return "error " + " ".join(f"{type(error).__name__}: {error}".split())
    return "ok"


def read(lines):
    """Passes lines on. At their end it ends the process, also while that waits for a lock."""
    for line in sys.stdin:
        lines.put(line.rstrip("\n"))
    os._exit(0)


def main():
    peer = Peer(sys.argv[1])
    print("ready redis-py", redis.__version__, flush=True)
    lines = queue.Queue()
    threading.Thread(target=read, args=(lines,), daemon=True).start()
    while True:
        line = lines.get()
        if line == "quit":
            print("ok", flush=True)
            os._exit(0)
        print(perform(peer, line), flush=True)


main()
