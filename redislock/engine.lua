-- The lock engine of Holdfast, format 1: a function library that runs inside Redis 7.0 or later. The package comment of redislock
-- says what it promises and why; this page says how. Before it stands guard.lua of package guard: the store, its guard, clock and tokens,
-- and what it says about KEYS and ARGV. Whoever changes either gives the library a new number (engine.go): old and new libraries then
-- stand side by side, and work on the same keys for as long as the format is the same.
--
-- KEYS[1] is the lock's one key. An attempt is 48 hexadecimal digits.
--
-- A lock that was free when somebody took it for itself is a string, as x below, which expires with its holder. Once there is more to
-- keep it is a hash (see open_up), until it is free. MGET tells them apart: it takes a hash for nothing, where GET would fail.
--
-- Fields of the hash:
--   x            the exclusive holder: attempt, record; '' if there is none. It is always there
--   h<attempt>   another holder, a reader or one with permits: record
--   i            the attempts of those holders, one after the other
--   m            numbers (see META), once there was somebody to wait, or a second holder
--   q<seq>       a waiter: attempt, when it came, when it was last heard of, request
--   w<attempt>   the seq of a waiter
--   t<attempt>   a tombstone: until, how it was broken (- not at all, 0 gently, 1 at once), by whom
--   r<n>         the attempts of the last tombstones, in a ring
--   s<channel>   when a grant was made that this channel let lapse; m has the last time that one was
--
-- A record is token, granted, until, kept until (doubles), a state and the request. States: c claimed; u granted by a push and not
-- claimed yet; b told to end by a break, c before; v the same, u before; k kept for nobody until its minimum hold is over.
--
-- Replies are arrays; the first element tells which:
--   G token spare left               holds, for that long
--   a number instead of an array     in the common cases: the token of one who holds as it asked, or RELEASED
--   W place left guard holders…      waits
--   H left guard holders…            somebody else has it, and nothing is queued
--   N                                there is no such hold or waiter; T the same, because it was undone before
--   B by now gone                    was broken
--   L limit                          another limit is in use; R another mode or number was asked for; F the queue is full
--   X                                the ttl is longer than the guard: it was opened with another
--   U left, P, S                     as in guard.lua

local SLACK = 8                -- by this part longer than needed a contended lock's key lives, so that its expiry is seldom written
local TOKEN_STAY = 3600000000  -- how long at most the token of a free name stays, if it is ahead of the clock
local BENEFIT = 200000         -- how long a client that let a grant lapse has to be heard of, before its other waiters are lost
local SUSPECT = 60000000       -- how long a client is remembered that let a grant lapse
local MAX_WAITERS = 20000      -- of one lock
local MAX_TOMBS = 256          -- of one lock: with more, the oldest are forgotten, and what they forbid is bounded by its TTL
local RELAY = 63               -- waiters of one client behind the one that is granted a lock, to whom it may pass that on
local LEAST_TOKEN = 2 ^ 50      -- a lesser one is not answered by a number alone: such a number says that this is not our library
local RELEASED = 2 ^ 50 - 1
local SHOWN = 8                -- how many of the holders somebody who waits is told of

local META = '<dddddddddddddd' -- token life head tail waiting limit count taken soonest gen live tombs suspect graves
local RECORD = '<dddd'
local RECORD_STATE = 33        -- behind four doubles
local MINUS = 45               -- the sign, as a byte
local NOBODY = '------------------------------------------------' -- 48, as an attempt

local swept = {count = 0} -- the queues that were swept last, and when

-- next_token is greater than every token of the name: than the clock, what this process gave, and what the name itself remembers.
local function next_token(st, name_token, reserve, now)
  local token = now
  if last >= token then
    token = last + 1
  end
  if name_token >= token then
    token = name_token + 1
  end
  last = token + reserve
  if last > st.ceiling then
    raise_ceiling(st, now)
  end
  return token
end

---------------------------------------------------------------------------------------------------------------------------------
-- Requests and records.

-- ask packs what an attempt asked for, as the clients do. It is unpacked only where it is needed.
local function ask(r)
  return cmsgpack.pack(r.mode, r.n, r.limit, r.ttl, r.claim, r.keep, r.reserve, r.life, r.channel, r.id, r.label, r.by or false)
end

local function asked(packed)
  local r = {}
  r.mode, r.n, r.limit, r.ttl, r.claim, r.keep, r.reserve, r.life, r.channel, r.id, r.label, r.by = cmsgpack.unpack(packed)
  return r
end

-- where returns the channel and the id of a request, without the rest.
local function where(packed)
  local _, _, _, _, _, _, _, _, channel, id = cmsgpack.unpack(packed)
  return channel, id
end

local function record(h)
  return struct.pack(RECORD, h.token, h.granted, h.till, h.keep) .. h.state .. h.ask
end

-- read_record reads the record that begins at a place of a text.
local function read_record(text, at)
  local h = {}
  h.token, h.granted, h.till, h.keep = struct.unpack(RECORD, text, at)
  h.state = string.sub(text, at + RECORD_STATE - 1, at + RECORD_STATE - 1)
  h.ask = string.sub(text, at + RECORD_STATE)
  return h
end

local function read_exclusive(x)
  local h = read_record(x, 49)
  h.attempt = string.sub(x, 1, 48)
  return h
end

local function is_broken(h) return h.state == 'b' or h.state == 'v' end

-- cap brings the end of a hold down to what its owner can believe, after the clock was set back: no more than it ever asked for, from now
-- on. It reports whether anything changed.
local function cap(h, now)
  local r = asked(h.ask)
  local most = now + r.ttl
  if h.state == 'k' then
    most = now + r.keep
  elseif h.state == 'u' or h.state == 'v' then
    most = now + math.min(r.ttl, r.claim)
  end
  local till, keep = math.min(h.till, most), math.min(h.keep, now + r.keep)
  local changed = till < h.till or keep < h.keep
  h.till, h.keep = till, keep
  return changed
end

-- ends is when a holder makes room, unless it is renewed.
local function ends(h) return math.max(h.till, h.keep) end

local function tell(channel, text) return redis.call('SPUBLISH', channel, text) end

---------------------------------------------------------------------------------------------------------------------------------
-- A lock: loaded, changed, saved.

-- only_holder returns the text of a lock that is held alone, and is a string; false in all other cases.
local function only_holder(key)
  return redis.call('MGET', key)[1]
end

-- load reads the lock, and what it knows of an attempt: the record of its hold, or its place in the queue. alone is what only_holder
-- says.
local function load(key, attempt, alone)
  local kept
  if alone then
    if string.find(string.sub(alone, 1, 48), '%X') or string.sub(alone, RECORD_STATE + 48, RECORD_STATE + 48) ~= 'c' then
      error({err = 'WRONGTYPE the key of a lock holds a text that is not ours'})
    end
    kept = {alone}
  else
    kept = redis.call('HMGET', key, 'x', 'm', 'h' .. attempt, 'w' .. attempt, 't' .. attempt)
  end
  local l = {key = key, attempt = attempt, x = kept[1] or '', was = kept[1], fresh = not kept[1], held = kept[3], seq = kept[4], tomb = kept[5], writes = {},
    alone = alone}
  if kept[2] then
    l.token, l.life, l.head, l.tail, l.waiting, l.limit, l.count, l.taken, l.soonest, l.gen, l.live, l.tombs, l.suspect,
      l.graves = struct.unpack(META, kept[2])
  else
    l.token, l.life, l.head, l.tail, l.waiting, l.limit, l.count, l.taken, l.soonest, l.gen, l.live, l.tombs, l.suspect,
      l.graves = 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
  end
  if l.x ~= '' then
    l.holder = read_exclusive(l.x)
    if not kept[2] then
      l.token = l.holder.token + asked(l.holder.ask).reserve
    end
  end
  if l.suspect > 0 and moment - l.suspect > SUSPECT then
    l.suspect = 0
  end
  if l.holder and not behind then
    local st = stores[ARGV[1]]
    was_later(l.holder.granted)
    if st and st.guard > 0 and l.holder.state ~= 'k' then
      was_later(l.holder.till - st.guard) -- no TTL is longer than the guard
    end
  end
  if behind then
    l.soonest = math.min(l.soonest, moment) -- look at all of them
    l.suspect = 0
    if l.holder and cap(l.holder, moment) then
      l.x = l.holder.attempt .. record(l.holder)
    end
  end
  return l
end

-- open_up makes a hash of a lock that is held alone: there will be more to keep.
local function open_up(l)
  if l.alone then
    local rest = redis.call('PTTL', l.key)
    redis.call('DEL', l.key)
    redis.call('HSET', l.key, 'x', l.alone)
    redis.call('PEXPIRE', l.key, math.max(rest, 1))
    l.alone = nil
  end
end

-- later notes a field that save writes.
local function later(l, field, value)
  local n = #l.writes
  l.writes[n + 1], l.writes[n + 2] = field, value
end

local function meta(l)
  return struct.pack(META, l.token, l.life, l.head, l.tail, l.waiting, l.limit, l.count, l.taken, l.soonest, l.gen, l.live, l.tombs,
    l.suspect, l.graves)
end

-- needed_until is until when the key must live, whoever holds: for its tombstones, and for its token if that is ahead of the clock.
local function needed_until(l, now)
  if l.token < now then
    return l.tombs
  end
  return math.max(l.tombs, math.min(l.token, now + TOKEN_STAY) + 1000)
end

-- save_free writes back a lock that nobody has or wants: it stays for as long as it must, or not at all.
local function save_free(l, now)
  local needed = needed_until(l, now)
  if needed > now then
    l.life = needed
    redis.call('HSET', l.key, 'x', '', 'm', meta(l))
    redis.call('PEXPIRE', l.key, millis(needed - now))
  elseif not l.fresh then
    redis.call('DEL', l.key)
  end
end

-- save writes the lock back.
local function save(l, now)
  if l.ids_changed then
    if l.ids == '' then
      redis.call('HDEL', l.key, 'i')
    else
      redis.call('HSET', l.key, 'i', l.ids)
    end
  end
  if l.x == '' and l.count == 0 and l.waiting == 0 then
    return save_free(l, now)
  end
  local used = math.max(l.longest or 0, l.holder and ends(l.holder) or 0, now) -- by those who hold and wait
  local needed = math.max(needed_until(l, now), used)
  local longer = needed > l.life
  if longer then
    l.life = math.max(needed, used + (used - now) / SLACK)
  end
  if l.x ~= l.was then
    later(l, 'x', l.x)
  end
  later(l, 'm', meta(l))
  redis.call('HSET', l.key, unpack(l.writes))
  if longer and l.fresh then
    redis.call('PEXPIRE', l.key, millis(l.life - now))
  elseif longer then
    redis.call('PEXPIRE', l.key, millis(l.life - now), 'GT')
  end
end

-- lasts notes that the key is needed until t.
local function lasts(l, t) l.longest = math.max(l.longest or 0, t) end

---------------------------------------------------------------------------------------------------------------------------------
-- Tombstones.

-- entomb remembers an attempt that must not hold any more, until t. How many there are does not matter: there is a ring of them, and
-- with more than that the oldest is forgotten.
local function entomb(l, attempt, t, by, at_once)
  local how = not by and '-' or at_once and '1' or '0'
  if redis.call('HEXISTS', l.key, 't' .. attempt) == 0 then
    local slot = 'r' .. l.graves % MAX_TOMBS
    local oldest = redis.call('HGET', l.key, slot)
    if oldest then
      redis.call('HDEL', l.key, 't' .. oldest)
    end
    redis.call('HSET', l.key, slot, attempt)
    l.graves = l.graves + 1
  end
  local tomb = struct.pack('<d', t) .. how .. (by or '')
  redis.call('HSET', l.key, 't' .. attempt, tomb)
  if attempt == l.attempt then
    l.tomb = tomb
  end
  l.tombs = math.max(l.tombs, t)
end

-- tomb_of returns how the attempt that the lock was loaded for was broken, and by whom, if it has a tombstone.
local function tomb_of(l, now)
  if not l.tomb or struct.unpack('<d', l.tomb) <= now then
    return nil
  end
  return string.sub(l.tomb, 9, 9), string.sub(l.tomb, 10)
end

---------------------------------------------------------------------------------------------------------------------------------
-- Holders.

local function set_exclusive(l, h)
  l.holder, l.x = h, h.attempt .. record(h)
end

-- put writes a holder.
local function put(l, h, mode)
  if mode == 'e' then
    set_exclusive(l, h)
    return
  end
  redis.call('HSET', l.key, 'h' .. h.attempt, record(h))
  lasts(l, ends(h))
end

-- ids returns the attempts of the holders that are not exclusive, one after the other.
local function ids(l)
  if not l.ids then
    l.ids = l.count > 0 and redis.call('HGET', l.key, 'i') or ''
  end
  return l.ids
end

-- each_id calls f for each of these holders, as they were when it began.
local function each_id(l, f)
  local all = ids(l)
  for at = 1, #all, 48 do
    f(string.sub(all, at, at + 47))
  end
end

-- swap_id puts another attempt, or none, in the place of one.
local function swap_id(l, old, new)
  local all, at = ids(l), 0
  repeat
    at = string.find(all, old, at + 1, true)
  until (at - 1) % 48 == 0
  l.ids = string.sub(all, 1, at - 1) .. new .. string.sub(all, at + 48)
  l.ids_changed = true
end

-- add makes somebody a holder.
local function add(l, h, r)
  put(l, h, r.mode)
  if r.mode == 'e' then
    return
  end
  l.ids, l.ids_changed = ids(l) .. h.attempt, true
  l.soonest = l.count == 0 and h.till or math.min(l.soonest, h.till)
  l.count, l.taken, l.live = l.count + 1, l.taken + r.n, l.live + 1
end

-- read_other reads one of these holders; nil if there is no record of it, and then it is forgotten.
local function read_other(l, id)
  local text = redis.call('HGET', l.key, 'h' .. id)
  if not text then
    swap_id(l, id, '')
    l.count = l.count - 1
    return nil
  end
  local h = read_record(text, 1)
  h.attempt = id
  if behind and cap(h, moment) and not l.reading then
    redis.call('HSET', l.key, 'h' .. id, record(h))
  end
  return h
end

-- keeps returns what stays of a hold that ends while its minimum hold is not over: nobody's. nil: nothing stays.
local function keeps(h, now)
  if h.keep <= now then
    return nil
  end
  local id = h.attempt
  if h.state ~= 'k' then
    id = 'kept----' .. redis.sha1hex(h.attempt .. h.granted) -- the attempt may come again, and be kept again
  end
  return {attempt = id, token = h.token, granted = h.granted, till = h.keep, keep = h.keep, state = 'k', ask = h.ask}
end

-- finish ends one hold; if it stays, and its minimum hold is not over, the lock is kept for nobody.
local function finish(l, h, mode, stays, now)
  local rest = stays and keeps(h, now) or nil
  if mode == 'e' then
    l.holder, l.x = nil, ''
    if rest then
      rest.attempt = NOBODY
      set_exclusive(l, rest)
    end
    return rest
  end
  if h.state == 'c' or h.state == 'u' then
    l.live = l.live - 1
    if l.live == 0 then
      l.gen = 0
    end
  end
  if not rest or rest.attempt ~= h.attempt then
    redis.call('HDEL', l.key, 'h' .. h.attempt)
    swap_id(l, h.attempt, rest and rest.attempt or '')
  end
  if rest then
    put(l, rest, mode)
    l.soonest = math.min(l.soonest, rest.till)
  else
    l.count, l.taken = l.count - 1, l.taken - asked(h.ask).n
  end
  return rest
end

-- lapse is what the end of a hold means to its owner, who did not release it.
local function lapse(l, h, now)
  local r = asked(h.ask)
  if is_broken(h) then
    entomb(l, h.attempt, now + r.ttl, r.by, false)
  elseif h.state == 'u' then
    l.suspect = h.granted -- whoever did not answer this will not answer the next
    redis.call('HSET', l.key, 's' .. r.channel, struct.pack('<dd', h.granted, h.till))
  elseif h.state == 'c' and r.channel ~= '' then
    tell(r.channel, 'l ' .. r.id)
  end
end

-- expire ends what has run out.
local function expire(l, now)
  local function over(h, mode)
    if h.state ~= 'k' then
      lapse(l, h, now)
    end
    return finish(l, h, mode, h.state ~= 'u' and h.state ~= 'v', now) -- nobody ran under what was not claimed
  end
  if l.holder and l.holder.till <= now then
    over(l.holder, 'e')
  end
  if l.count == 0 or l.soonest > now then
    return
  end
  local soonest = math.huge
  each_id(l, function(id)
    local h = read_other(l, id)
    if h and h.till <= now then
      h = over(h, asked(h.ask).mode)
    end
    if h then
      soonest = math.min(soonest, h.till)
    end
  end)
  l.soonest = soonest < math.huge and soonest or 0
end

-- find returns the hold of the attempt that the lock was loaded for, and how it is held.
local function find(l, attempt)
  if l.holder and l.holder.attempt == attempt then
    return l.holder, 'e'
  end
  if l.held and redis.call('HEXISTS', l.key, 'h' .. attempt) == 1 then -- it may have run out since
    local h = read_other(l, attempt)
    return h, asked(h.ask).mode
  end
  return nil
end

---------------------------------------------------------------------------------------------------------------------------------
-- The queue.

local function waiter(attempt, came, heard, packed)
  return attempt .. struct.pack('<dd', came, heard) .. packed
end

local function read_waiter(text)
  local w = {attempt = string.sub(text, 1, 48), ask = string.sub(text, 65)}
  w.came, w.heard = struct.unpack('<dd', text, 49)
  return w
end

local function enqueue(l, attempt, r, packed, now)
  l.tail, l.waiting = l.tail + 1, l.waiting + 1
  later(l, 'q' .. l.tail, waiter(attempt, now, now, packed))
  later(l, 'w' .. attempt, l.tail)
  lasts(l, now + r.life)
end

-- peek returns the first waiter, and skips the holes that others have left.
local function peek(l)
  while l.head <= l.tail do
    local text = redis.call('HGET', l.key, 'q' .. l.head)
    if text then
      return read_waiter(text)
    end
    l.head = l.head + 1
  end
  l.head, l.tail, l.waiting = 1, 0, 0
  return nil
end

local function dequeue(l, w)
  redis.call('HDEL', l.key, 'q' .. l.head, 'w' .. w.attempt)
  l.head, l.waiting = l.head + 1, l.waiting - 1
end

local close_up

-- withdraw takes a waiter out of the queue, wherever it stands.
local function withdraw(l, attempt)
  local seq = l.seq and redis.call('HGET', l.key, 'w' .. attempt) -- once more: it may have been dropped since
  if not seq then
    return false
  end
  redis.call('HDEL', l.key, 'q' .. seq, 'w' .. attempt)
  l.seq, l.waiting = false, l.waiting - 1
  close_up(l)
  return true
end

-- is_lost says that nobody is there any more to be served: not heard of for too long, or of a client that let a grant lapse, and of
-- which nothing was heard since. Until when it has the benefit of the doubt, if it has, is noted in l.doubt.
local function is_lost(l, w, r, now)
  if w.heard + r.life < now then
    return true
  end
  if l.suspect == 0 or w.heard > l.suspect then
    return false
  end
  local lapsed = redis.call('HGET', l.key, 's' .. r.channel)
  if not lapsed then
    return false
  end
  local granted, till = struct.unpack('<dd', lapsed)
  if w.heard > granted then
    return false
  end
  if now <= till + BENEFIT then
    l.doubt = till + BENEFIT
  end
  return now > till + BENEFIT
end

-- hears_of notes that a client lives: it asks.
local function hears_of(l, channel)
  if l.suspect > 0 then
    redis.call('HDEL', l.key, 's' .. channel)
  end
end

-- listens reports whether anybody is subscribed to the channel of a waiter.
local function listens(channel)
  return channel ~= '' and redis.call('PUBSUB', 'SHARDNUMSUB', channel)[2] > 0
end

-- each_waiter calls f for each who waits, with its place and its text.
local function each_waiter(l, f)
  for seq = l.head, l.tail do
    local text = redis.call('HGET', l.key, 'q' .. seq)
    if text then
      f(seq, text)
    end
  end
end

-- close_up closes the holes in the queue when there are more of them than waiters: those who left have paid for it.
function close_up(l)
  if l.waiting == 0 then
    l.head, l.tail = 1, 0
    return
  end
  if l.tail - l.head < 2 * l.waiting + 64 then
    return
  end
  local to = l.tail
  each_waiter(l, function(seq, text)
    to = to + 1
    redis.call('HDEL', l.key, 'q' .. seq)
    redis.call('HSET', l.key, 'q' .. to, text, 'w' .. string.sub(text, 1, 48), to)
  end)
  l.head, l.tail = l.tail + 1, to
end

-- sweep drops everybody who is lost or does not listen, from a queue that is full; once a second.
local function sweep(l, now)
  if math.abs(now - (swept[l.key] or 0)) < 1000000 then
    return
  end
  if not swept[l.key] and swept.count > 100 then
    swept = {count = 0}
  end
  swept[l.key], swept.count = now, swept.count + 1
  local alive = {}
  each_waiter(l, function(seq, text)
    local w = read_waiter(text)
    local r = asked(w.ask)
    if alive[r.channel] == nil then
      alive[r.channel] = listens(r.channel)
    end
    if not alive[r.channel] or is_lost(l, w, r, now) then
      redis.call('HDEL', l.key, 'q' .. seq, 'w' .. w.attempt)
      l.waiting = l.waiting - 1
    end
  end)
  close_up(l)
end

local function fits(l, r)
  if r.mode == 'p' then
    return r.n <= l.limit - l.taken
  elseif r.mode == 's' then
    return l.x == ''
  end
  return l.x == '' and l.count == 0
end

-- grant makes attempt a holder: for its own TTL if it is there to hear of it, or for the time to claim it. further is how many more
-- tokens it takes.
local function grant(st, l, attempt, r, packed, claimed, further, now)
  local token
  if r.mode == 's' and l.gen > 0 then
    token = l.gen
  else
    token = next_token(st, l.token, r.reserve + further, now)
    l.token = token + r.reserve + further
    if r.mode == 's' then
      l.gen = token
    end
  end
  local h = {attempt = attempt, token = token, granted = now, state = 'c', till = now + r.ttl, keep = 0, ask = packed}
  if r.keep > 0 then
    h.keep = now + r.keep
  end
  if not claimed then
    h.state, h.till = 'u', now + math.min(r.ttl, r.claim)
  end
  add(l, h, r)
  return h
end

-- look_in tells a waiter to look again in a while. It returns how many have heard it, and its channel.
local function look_in(w, delay)
  local channel, id = where(w.ask)
  return tell(channel, string.format('n %s %.0f', id, delay)), channel
end

-- watch_last makes the last in the queue look, if it is of another client than the one that may hang.
local function watch_last(l, delay, told)
  local text = l.tail > l.head and redis.call('HGET', l.key, 'q' .. l.tail)
  local w = text and read_waiter(text)
  if w and where(w.ask) ~= told then
    look_in(w, delay)
  end
end

-- passes reports whether a request can be passed on inside its client.
local function passes(r) return r.mode == 'e' and r.keep == 0 and r.reserve == 0 end

-- row returns the ids of those who stand right behind a waiter that is to be granted the lock, are of the same client and want the same;
-- and the text of the one behind them. The client may pass the lock on from one to the next (see relay in redislock): here they go on
-- waiting, in their order, until it says how far it has come.
local function row(l, r, packed)
  local found, n = {}, 0
  if l.suspect > 0 then
    return found
  end
  local _, same = string.find(packed, r.channel, 1, true) -- up to here their requests are alike; then comes the id, a short text
  local alike, seq, many = string.sub(packed, 1, same), l.head, 1
  while seq <= l.tail and n < RELAY do
    local fields = {}
    for i = 1, math.min(many, l.tail - seq + 1, RELAY - n) do
      fields[i] = 'q' .. (seq + i - 1)
    end
    local texts = redis.call('HMGET', l.key, unpack(fields))
    for i = 1, #fields do
      local text = texts[i]
      if text then
        if string.sub(text, 65, 64 + same) ~= alike then
          return found, text
        end
        n = n + 1
        found[n] = string.sub(text, 66 + same, string.byte(text, 65 + same) - 95 + same)
      end
    end
    seq, many = seq + #fields, 16
  end
  return found
end

-- watch makes somebody look when a grant may have lapsed: the one behind the row, if there is a row; else the next in line; and if that
-- is of the same client, which may hang, the last.
local function watch(l, delay, told, behind_row)
  if behind_row and look_in(read_waiter(behind_row), delay) > 0 then
    return
  end
  while l.waiting > 0 do
    local w = peek(l)
    if not w then
      return
    end
    local heard, channel = look_in(w, delay)
    if heard > 0 then
      if channel == told then
        watch_last(l, delay + BENEFIT, told)
      end
      return
    end
    dequeue(l, w) -- nobody listens any more
  end
end

-- serve gives the lock to the head of the queue for as long as that fits. It is the only way by which somebody who waits is served.
-- self is the attempt that asks right now: it needs no message. Whoever is granted the lock is told, alone. It returns self's hold.
local function serve(st, l, self, now)
  local mine, delay, told, behind_row
  while l.waiting > 0 and not (delay and l.x ~= '') do
    local w = peek(l)
    if not w then
      break
    end
    local r = asked(w.ask)
    l.doubt = nil
    if w.attempt ~= self and is_lost(l, w, r, now) then
      dequeue(l, w)
    elseif l.doubt then -- it is not given the lock, nor passed over, before it could have been heard of
      look_in(w, 1)
      watch_last(l, l.doubt - now, r.channel)
      break
    elseif not fits(l, r) then
      if w.attempt == self or listens(r.channel) then
        break
      end
      dequeue(l, w) -- whoever is gone holds nobody back
    else
      dequeue(l, w)
      if w.attempt == self then
        mine = grant(st, l, self, r, w.ask, true, 0, now)
      else
        local further, others, text = 0, '', nil
        if passes(r) then
          further, others, text = RELAY, row(l, r, w.ask)
          others = table.concat(others, ' ')
        end
        local h = grant(st, l, w.attempt, r, w.ask, false, further, now)
        local message = string.format('g %s %.0f %.0f %d %d %s', r.id, h.token, r.reserve, l.waiting, further, others)
        if tell(r.channel, message) == 0 then
          finish(l, h, r.mode, false, now) -- nobody listens any more
        else
          delay, told, behind_row = h.till - now, r.channel, text
        end
      end
    end
  end
  if delay then
    watch(l, delay, told, behind_row)
  end
  return mine
end

---------------------------------------------------------------------------------------------------------------------------------
-- Relays: what a client says of those that have passed the lock on among themselves. relay is their attempts, one after the other: the
-- first is the one that was granted the lock here.

-- has reports whether attempt is one of them.
local function has(relay, attempt)
  local at = 0
  repeat
    at = string.find(relay, attempt, at + 1, true)
  until not at or (at - 1) % 48 == 0
  return at ~= nil
end

-- drop takes them out of the queue, all in one write.
local function drop(l, relay)
  local waits, gone = {}, {}
  for at = 1, #relay, 48 do
    waits[#waits + 1] = 'w' .. string.sub(relay, at, at + 47)
  end
  local seqs = redis.call('HMGET', l.key, unpack(waits))
  for i = 1, #waits do
    if seqs[i] then
      gone[#gone + 1], gone[#gone + 2] = waits[i], 'q' .. seqs[i]
    end
  end
  if #gone > 0 then
    redis.call('HDEL', l.key, unpack(gone))
    l.waiting = l.waiting - #gone / 2
    close_up(l)
  end
end

-- finish_relay ends the hold of any of them, and what the others have in the queue. It reports whether there was a hold.
local function finish_relay(l, relay, now)
  local held = l.holder and has(relay, l.holder.attempt)
  if held then
    finish(l, l.holder, 'e', false, now)
  end
  drop(l, relay)
  return held
end

---------------------------------------------------------------------------------------------------------------------------------
-- Replies.

local MODES = {e = 1, s = 2, p = 3}

local function describe(h, r, now)
  return {r.label, h.token, MODES[r.mode], r.n, math.max(0, now - h.granted), math.max(0, h.till - now), h.state}
end

-- holders appends who holds, the first few.
local function holders(reply, l, now)
  if l.holder then
    reply[#reply + 1] = describe(l.holder, asked(l.holder.ask), now)
  end
  local few = l.count > 0 and string.sub(ids(l), 1, 48 * SHOWN) or ''
  for at = 1, #few, 48 do
    local h = read_other(l, string.sub(few, at, at + 47))
    if h then
      reply[#reply + 1] = describe(h, asked(h.ask), now)
    end
  end
  return reply
end

-- left is when it is worth asking again.
local function left(l, now)
  local soonest = l.doubt or l.holder and ends(l.holder) or l.soonest
  return math.max(0, soonest - now)
end

local function granted(h, now)
  local r = asked(h.ask)
  return {'G', h.token, r.reserve, math.min(h.till - now, r.ttl)} -- a clock that was set back does not make a hold longer
end

---------------------------------------------------------------------------------------------------------------------------------
-- The functions.

-- again is an attempt that holds already: it goes on with that hold.
local function again(st, l, h, mode, r, now)
  local before = asked(h.ask)
  if mode ~= r.mode or before.n ~= r.n then
    return {'R'}
  end
  if st.left > 0 then -- who asks does not believe in it yet, so that it may have run out elsewhere, and be somebody else's
    return {'U', st.left}
  end
  if not is_broken(h) then
    h.state, h.till = 'c', math.max(h.till, now + r.ttl)
    r.reserve, r.ttl = before.reserve, math.max(r.ttl, before.ttl)
    h.ask = ask(r)
    put(l, h, mode)
  end
  return granted(h, now)
end

-- stand puts an attempt into the queue, or finds it there, and says how things are.
local function stand(st, l, attempt, r, how, now)
  local place = 0
  local text = l.seq and redis.call('HGET', l.key, 'q' .. l.seq)
  if text then
    local w = read_waiter(text)
    local before = asked(w.ask)
    if before.mode ~= r.mode or before.n ~= r.n then
      return {'R'}
    end
    local packed = ARGV[5]
    if how == 'look' or r.channel == '' then
      packed = w.ask -- another call waits for the answer; or this one cannot be told, but may have been able to before
    end
    later(l, 'q' .. l.seq, waiter(attempt, w.came, now, packed))
    lasts(l, now + r.life)
    place = how ~= 'look' and math.max(1, math.min(l.seq - l.head + 1, l.waiting)) or 0
  elseif (how == 'wait' or how == 'take') and r.channel ~= '' then
    if l.waiting >= MAX_WAITERS then
      sweep(l, now)
      if l.waiting >= MAX_WAITERS then
        return {'F'}
      end
    end
    enqueue(l, attempt, r, ARGV[5], now)
    place = l.waiting
  end
  if place > 0 then
    return holders({'W', place, left(l, now), st.left}, l, now)
  end
  return holders({'H', left(l, now), st.left}, l, now)
end

local common = {} -- the ttl that was asked for last, and what it is for Redis: to make a text of a number takes long

-- take is the common case: nobody has the lock, and it is taken in one write. What is not said in the reply is as it was asked for.
local function take(st, now)
  if last >= now then
    if last - now > takes then -- the token will be ahead of the clock, and the key must remember it
      return nil
    end
    now = last + 1 -- several in one request: each takes longer than a microsecond, so that the clock has passed this before the next request
  end
  takes = takes + 1
  local ttl = ARGV[3] + 0
  if ttl > longest(st) then
    return nil
  end
  last = now -- it is the token
  if now > st.ceiling then
    raise_ceiling(st, now)
  end
  local x = ARGV[2] .. struct.pack(RECORD, now, now, now + ttl, 0) .. 'c' .. ARGV[5]
  if ARGV[3] ~= common.ttl then
    common.ttl, common.millis = ARGV[3], string.format('%.0f', millis(ttl))
  end
  if not redis.call('SET', KEYS[1], x, 'NX', 'PX', common.millis) then
    return nil
  end
  if now < LEAST_TOKEN then
    return {'G', now, 0, ttl}
  end
  return now
end

-- ask_for is an attempt that finds the lock in use, or finds itself in it.
local function ask_for(st, l, attempt, r, how, now)
  hears_of(l, r.channel)
  if tomb_of(l, now) then
    return {'T'}
  end
  if r.mode == 'p' then
    if l.limit ~= r.limit and l.waiting > 0 and st.left == 0 then
      serve(st, l, '', now) -- those who wait may be gone
    end
    if l.limit ~= r.limit and (l.count > 0 or l.waiting > 0) then
      return {'L', l.limit}
    end
    l.limit = r.limit
  end
  local h, mode = find(l, attempt)
  if h then
    return again(st, l, h, mode, r, now)
  end
  if st.left == 0 and l.x == '' then
    h = serve(st, l, attempt, now)
    if not h and l.waiting == 0 and fits(l, r) then
      h = grant(st, l, attempt, r, ARGV[5], true, 0, now)
    end
    if h then
      return granted(h, now)
    end
  end
  if how == 'leave' and withdraw(l, attempt) and st.left == 0 then
    serve(st, l, '', now) -- it may have been the head that did not fit
  end
  return stand(st, l, attempt, r, how, now)
end

-- acquire: ARGV 2 attempt, 3 ttl, 4 how: take (it wants the lock for itself alone, and nothing else, and waits for it), wait, look
-- (its place, if it has one, is kept) or leave (its place is given up); 5 the request as ask packs it: mode (e, s, p), n, limit, ttl,
-- time to claim, keep, reserve, life of a waiter that is not heard of, channel on which it is told ('': it cannot be, so it is not
-- queued), id of this call on that channel, label.
local function acquire()
  local now = clock()
  local st = enter(now)
  if not st then
    return {'S'}
  end
  local reply = unproved(st, now) or ARGV[4] == 'take' and st.left == 0 and take(st, now)
  if reply then
    return reply
  end
  if ARGV[3] + 0 > longest(st) then
    return {'X'}
  end
  local l = load(KEYS[1], ARGV[2], only_holder(KEYS[1]))
  if l.alone and ARGV[4] == 'leave' and l.holder.attempt ~= ARGV[2] and l.holder.till > now then -- somebody who only tries changes nothing
    return holders({'H', left(l, now), st.left}, l, now)
  end
  open_up(l)
  expire(l, now)
  reply = ask_for(st, l, ARGV[2], asked(ARGV[5]), ARGV[4], now)
  save(l, now)
  return reply
end

-- hand_on serves those who wait, unless nothing may be granted. If that is for want of a proof the head of the queue is told to get one.
local function hand_on(st, l, now)
  if is_open(st, now) then
    serve(st, l, '', now)
  elseif st.left == 0 and l.waiting > 0 and l.x == '' then
    local w = peek(l)
    if w then
      look_in(w, 1)
    end
  end
end

-- release: ARGV 2 attempt, 3 two flags in one text: whether its minimum hold counts (1 or 0), whether a request for the attempt may
-- still be on its way (1 or 0); 4 its ttl, which is how long a tombstone stays; 5, if the lock was passed on to it, the relay before it.
local function release()
  local attempt = ARGV[2]
  local alone = only_holder(KEYS[1])
  local keeping, doubt = ARGV[3] == '10' or ARGV[3] == '11', ARGV[3] == '01' or ARGV[3] == '11'
  if alone and not doubt and not ARGV[5] and string.find(alone, attempt, 1, true) == 1 then -- the common case: nobody waits
    redis.call('DEL', KEYS[1]) -- it may have run out: then nobody has noticed
    return RELEASED
  end
  local now = clock()
  local st = enter(now)
  if not st then
    return {'S'}
  end
  local l = load(KEYS[1], attempt, alone)
  open_up(l)
  expire(l, now)
  local h, mode = find(l, attempt)
  local found, rest = h ~= nil, nil
  if ARGV[5] then
    found = finish_relay(l, ARGV[5] .. attempt, now)
  elseif found then
    rest = finish(l, h, mode, keeping, now)
  else
    found = withdraw(l, attempt)
  end
  if not found or doubt then
    entomb(l, attempt, now + tonumber(ARGV[4]))
  end
  hand_on(st, l, now)
  if rest and l.waiting > 0 then -- nobody will hand over what is kept for nobody: the head looks when that is over
    local w = peek(l)
    if w then
      look_in(w, rest.till - now)
    end
  end
  save(l, now)
  return {found and 'G' or 'N'}
end

-- gone answers who asks for a hold that is not there: broken, or just gone.
local function gone(l, now)
  local how, by = tomb_of(l, now)
  if how and how ~= '-' then
    return {'B', by, tonumber(how), 1}
  end
  return {'N'}
end

-- prolong is the common case of a renewal: an exclusive holder alone, that asks for no more than it did before. It replies nil in others.
local function prolong(x, ttl, now)
  if ttl == 0 or behind or string.find(x, ARGV[2], 1, true) ~= 1 or string.sub(x, 81, 81) ~= 'c' then
    return nil
  end
  local token, since, till, keep = struct.unpack(RECORD, x, 49)
  local _, _, _, most, _, _, reserve = cmsgpack.unpack(string.sub(x, 82))
  if ttl > most or now + ttl <= till then
    return nil
  end
  till = now + ttl
  redis.call('SET', KEYS[1], ARGV[2] .. struct.pack(RECORD, token, since, till, keep) .. string.sub(x, 81),
    'PX', millis(math.max(till, keep) - now))
  return {'G', token, reserve, ttl}
end

-- succeed gives the hold of a relay to the one that has come to have it, and renews it. nil: there is none.
local function succeed(st, l, relay, now)
  local before, token, ttl, r = l.holder, tonumber(ARGV[5]), tonumber(ARGV[3]), asked(ARGV[6])
  local theirs = before and before.till > now and before.state ~= 'k' and has(relay, before.attempt)
  if not theirs or token <= before.token or token > l.token or ARGV[7] == '1' and not l.seq then
    return nil
  end
  if ttl == 0 then
    return {'G', token, 0, before.till - now}
  elseif before.state == 'u' and st.left > 0 then
    return {'U', st.left}
  end
  ttl = math.min(ttl, longest(st))
  r.ttl = math.max(r.ttl, ttl)
  local h = {attempt = ARGV[2], token = token, granted = now, state = 'c', till = math.max(before.till, now + ttl), keep = 0, ask = ask(r)}
  set_exclusive(l, h)
  drop(l, relay .. h.attempt)
  save(l, now)
  return granted(h, now)
end

-- renew: ARGV 2 attempt, 3 ttl; 0 only asks; with a minus before it the caller does not believe in its hold, but claims it; if the lock
-- was passed on to it: 4 the relay before it, 5 its token, 6 its request, 7 whether it has a place in the queue (1 or 0): if that is gone,
-- it was released.
local function renew()
  local now = clock()
  local st = enter(now)
  if not st then
    return {'S'}
  end
  local claims = string.byte(ARGV[3]) == MINUS
  if claims then
    ARGV[3] = string.sub(ARGV[3], 2)
  end
  -- Before a failover what is claimed may have run out, and been granted to somebody else: by a clock that is behind it is still there.
  local reply = unproved(st, now) or (is_muted(st) or claims and st.left > 0) and {'U', st.left}
  if reply then
    return reply
  end
  local alone = only_holder(KEYS[1])
  reply = alone and not ARGV[4] and ARGV[3] + 0 <= longest(st) and prolong(alone, ARGV[3] + 0, now)
  if reply then
    return reply
  end
  local l = load(KEYS[1], ARGV[2], alone)
  local h, mode = find(l, ARGV[2])
  if not h and ARGV[4] then
    open_up(l)
    local reply = succeed(st, l, ARGV[4], now)
    if not reply then -- nobody will come back for those whose part is over
      finish_relay(l, ARGV[4] .. ARGV[2], now)
      hand_on(st, l, now)
      save(l, now)
    end
    return reply or gone(l, now)
  end
  if h and is_broken(h) then
    return {'B', asked(h.ask).by, 0, h.till <= now and 1 or 0}
  end
  if not h or h.till <= now and l.life > 0 then -- a lock with its holder alone ends with its key
    return gone(l, now)
  end
  local ttl = math.min(tonumber(ARGV[3]), longest(st))
  if ttl > 0 then
    if h.state == 'u' and st.left > 0 then
      return {'U', st.left}
    end
    local r = asked(h.ask)
    if ttl > r.ttl then
      r.ttl = ttl
      h.ask = ask(r)
    end
    h.state, h.till = 'c', math.max(h.till, now + ttl)
    open_up(l)
    put(l, h, mode)
    if mode == 'e' then
      redis.call('HSET', l.key, 'x', l.x)
    end
    redis.call('PEXPIRE', l.key, millis(ends(h) - now), 'GT')
  end
  return granted(h, now)
end

-- break_one ends one hold, gently or at once.
local function break_one(l, h, mode, at_once, by, now)
  local r = asked(h.ask)
  if not at_once then
    if h.state == 'c' or h.state == 'u' then
      r.by = by
      h.state, h.ask = h.state == 'c' and 'b' or 'v', ask(r)
      put(l, h, mode)
      lasts(l, h.till + r.ttl) -- its owner may ask, once it has ended, why
      if mode ~= 'e' then
        l.live = l.live - 1
      end
    end
  else
    if h.state ~= 'k' then
      entomb(l, h.attempt, now + r.ttl, by, true)
    end
    finish(l, h, mode, false, now)
  end
  if h.state ~= 'k' and r.channel ~= '' then
    tell(r.channel, 'b ' .. r.id .. ' ' .. (at_once and 1 or 0) .. ' ' .. by)
  end
end

-- break: ARGV 2 token, 3 whether at once (1 or 0), 4 who breaks it.
local function break_hold()
  local now = clock()
  local st = enter(now)
  if not st then
    return {'S'}
  end
  local token, at_once, found = tonumber(ARGV[2]), ARGV[3] == '1', false
  local l = load(KEYS[1], '', only_holder(KEYS[1]))
  open_up(l)
  expire(l, now)
  if l.holder and l.holder.token == token then
    found = true
    break_one(l, l.holder, 'e', at_once, ARGV[4], now)
  end
  each_id(l, function(id)
    local h = read_other(l, id)
    if h and h.token == token then
      found = true
      break_one(l, h, asked(h.ask).mode, at_once, ARGV[4], now)
    end
  end)
  if found and l.gen == token then
    l.gen = 0 -- no further readers join a generation that was broken
  end
  hand_on(st, l, now)
  save(l, now)
  return {found and 'G' or 'N'}
end

-- inspect changes nothing. It replies limit, guard, holders, waiters. A replica does not answer: what it knows may be old.
local function inspect()
  local now, info = clock(), primary_info()
  local l = load(KEYS[1], '', only_holder(KEYS[1]))
  l.reading = true
  local held, waiting = {}, {}
  local function show(h)
    if h.till <= now then -- it has run out, and nobody has looked since
      h = keeps(h, now)
    end
    if h then
      held[#held + 1] = describe(h, asked(h.ask), now)
    end
  end
  if l.holder then
    show(l.holder)
  end
  each_id(l, function(id)
    local h = read_other(l, id)
    if h then
      show(h)
    end
  end)
  if l.waiting > 0 then
    each_waiter(l, function(_, text)
      local w = read_waiter(text)
      local r = asked(w.ask)
      waiting[#waiting + 1] = not is_lost(l, w, r, now) and {r.label, MODES[r.mode], r.n, math.max(0, now - w.came)} or nil
    end)
  end
  return {l.limit, guard_left(KEYS[2], ARGV[1], info), held, waiting}
end

LETTERS = {
  a = {f = acquire, args = 4}, r = {f = release, args = 3}, n = {f = renew, args = 2},
  R = {f = release, args = 4}, N = {f = renew, args = 6}, -- of a relay
}

-- Without allow-oom a server that is out of memory would refuse to let go of what is held. So what takes and what lets go are not sent
-- together.
register('acquire', acquire, {})
register('release', release, {'allow-oom'})
register('renew', renew, {'allow-oom'})
register('break', break_hold, {'allow-oom'})
register('inspect', inspect, {'no-writes'})
register('acquires', several, {})
register('releases', several, {'allow-oom'})
