
-- The votes of one node, for a lock that a majority of nodes keeps. The package comment of redlock says what it is for; the code before this
-- is the guard's (internal/guard). Whoever changes it gives the library a new number (ballot.go).
--
-- KEYS[1]  the lock: a string that anybody may have written; KEYS[2] the store's key
-- ARGV[1]  the store's id
-- Beside the store's key there are, by names that follow from it (see beside), the tombstones of attempts, strings; and for each lock who waits, a
-- sorted set of channels by when they came. Mostly there are none, and the calls that look for them are spared: every word that
-- passes between Redis and this code costs as much as what it does.
--
-- Fields of the store's hash, beside the guard's: taken, the greatest token that was accepted; buried, until when there may be tombstones.
--
-- A value of ours: attempt (48), try (8), then, each behind a bar: token (0: none yet), since when (µs), state (v voted; h held: it took part in the round
-- that decided on the token; r held, but it did not: a late vote or a repair; b told to end), who broke it, label. A try, in arguments, is the attempt and its number: 56 digits. A tombstone: the number of the last try that is dead (8 digits),
-- and, if the hold was broken, 0 (gently) or 1 (at once) and by whom.
--
-- Replies, but for those of the guard (S, P, U, X):
--   G …   done; or a number alone: DONE, or of a vote the time. To make an array takes long, and to read one
--   H left mark token held state label run   somebody else has it; left -1: for ever; mark: the same on every node, and no secret; token -1: it is not ours
--   A try token left run            the attempt has it already, by that try
--   N free                          it is not there: nobody has the key (1), or somebody else (0)
--   B by now gone left              the hold was broken
--   T n                             it was undone before, as all tries up to n

local ATTEMPT, TRY = 48, 56
local LEAST_WAIT = 750 -- for so long at least who waits is remembered, if it does not come to ask, in milliseconds: it asks more often
local PARTS = '^|(%d+)|(%d+)|(%a)|([^|]*)|(.*)$' -- of a value, behind the try
local NO_TRY, LAST_TRY = '00000000', 'ffffffff'
local BURIED_STEP = 10000000 -- how far ahead it is written that there may be tombstones
local DONE = 2 ^ 50
local RUN = 16 -- digits of the id of a server process

local KEPT, MOST_TURNS = 20000, 10000 -- for how long a vote is kept for who was told that the lock is free, and how many are remembered

local run -- the id of this server process
local turns, turned = {}, 0 -- by store and lock, who was told last that it is free, and until when; and how many they are, at most

local function run_id()
  run = run or string.sub(string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), 1, RUN)
  return run
end

local stood = 0 -- until when somebody may wait; whoever is forgotten with this memory asks by itself

local function digits(n) return n == 0 and '0' or string.format('%.0f', n) end

-- taken_by_now is the greatest token that this node has accepted, also from programs of another age, whose library has a memory of its own.
local function taken_by_now(st)
  st.taken = math.max(st.taken or 0, tonumber(redis.call('HGET', KEYS[2], 'taken') or 0))
  return st.taken
end

local function accept(st, token)
  if token > taken_by_now(st) then
    st.taken = token
    redis.call('HSET', KEYS[2], 'taken', digits(token))
  end
end

local function value_of(try, token, since, state, by, label)
  return try .. '|' .. digits(token) .. '|' .. digits(since) .. '|' .. state .. '|' .. by .. '|' .. label
end

-- read takes a value apart; nil: it is not ours.
local function read(value)
  local try = string.sub(value, 1, TRY)
  local token, since, state, by, label = string.match(string.sub(value, TRY + 1), PARTS)
  return token and not string.find(try, '%X') and {try = try, token = tonumber(token), since = tonumber(since), state = state, by = by, label = label}
end

-- beside is a key beside the store's, which ends in "store".
local function beside(kind, of) return string.sub(KEYS[2], 1, -6) .. kind .. of end

-- tombstone is the key of that of an attempt, or of a try's, for the lock at hand.
local function tombstone(try) return beside('undone:', string.sub(try, 1, ATTEMPT) .. ':' .. KEYS[1]) end

-- tomb reads the tombstone of an attempt: the last dead try, and how its hold was broken.
local function tomb(try)
  local text = redis.call('GET', tombstone(try))
  if not text then
    return nil
  end
  return string.sub(text, 1, 8), string.sub(text, 9, 9), string.sub(text, 10)
end

-- entomb makes all tries of an attempt up to n dead. A tombstone is never taken back.
local function entomb(try, n, ttl, how, by)
  local before, was, whom = tomb(try)
  if before and before > n then
    n = before
  end
  if was and was ~= '' and how == '' then
    how, by = was, whom
  end
  local key = tombstone(try)
  local lasts = math.max(millis(ttl), redis.call('PTTL', key))
  redis.call('SET', key, n .. how .. by, 'PX', lasts)
  local st, till = stores[ARGV[1]], clock() + lasts * 1000
  local known = tonumber(redis.call('HGET', KEYS[2], 'buried') or 0)
  if till > known and redis.call('HEXISTS', KEYS[2], 'id') == 1 then
    known = till + BURIED_STEP
    redis.call('HSET', KEYS[2], 'buried', digits(known))
  end
  if st then
    st.buried = math.max(known, till)
  end
end

-- is_dead answers for a try that was undone before; nil if it was not.
local function is_dead(st, try, now)
  if not st.buried or st.seen == now then -- another version of this library may have buried some
    st.buried = math.max(st.buried or 0, tonumber(redis.call('HGET', KEYS[2], 'buried') or 0))
  end
  if now > st.buried and not behind then
    return nil
  end
  local n = tomb(try)
  return n and string.sub(try, ATTEMPT + 1) <= n and {'T', n} or nil
end

-- mark tells holders apart, without what they could be released by.
local function mark(text) return string.sub(redis.sha1hex(text), 1, 12) end

-- held describes whoever has the key.
local function held(value, now)
  local left = redis.call('PTTL', KEYS[1])
  if left > 0 then
    left = left * 1000
  end
  local v = read(value)
  if not v then
    return {'H', left, mark(value), -1, 0, '', '', run_id()}
  end
  return {'H', left, mark(v.try), v.token, math.max(0, now - v.since), v.state, v.label, run_id()}
end

-- entered begins a call that can grant or renew. It returns the store, or nil and what to reply.
local function entered(now)
  local st = enter(now)
  if not st then
    return nil, {'S'}
  end
  local reply = unproved(st, now)
  if reply then
    return nil, reply
  end
  return st
end

-- put takes the key, if it is free; else it replies who has it.
local function put(try, token, state, label, ttl, now)
  if redis.call('SET', KEYS[1], value_of(try, token, now, state, '', label), 'NX', 'PX', millis(ttl)) then
    return nil
  end
  local value = redis.call('GET', KEYS[1])
  local v = read(value)
  if v and string.sub(try, 1, ATTEMPT) == string.sub(v.try, 1, ATTEMPT) then
    return {'A', string.sub(v.try, ATTEMPT + 1), v.token, math.max(0, redis.call('PTTL', KEYS[1])) * 1000, run_id()}
  end
  return held(value, now)
end

-- waiting is the key of who waits for the lock.
local function waiting() return beside('waiting:', KEYS[1]) end

-- stand adds a channel to those who wait, by since when it does: its client says that, the same to every node, so that all have the same order.
local function stand(since, channel, ttl)
  local key = waiting()
  local lasts = math.max(LEAST_WAIT, millis(ttl), redis.call('PTTL', key))
  redis.call('ZADD', key, digits(since), channel)
  redis.call('PEXPIRE', key, lasts)
  stood = math.max(stood, clock() + lasts * 1000)
end

-- the_lock tells locks of all stores of this server apart: databases share the library's memory.
local function the_lock() return ARGV[1] .. KEYS[1] end

-- drop forgets who was told.
local function drop(lock)
  if turns[lock] then
    turns[lock], turned = nil, turned - 1
  end
end

-- keep remembers who was told that the lock is free. It is on its way; others who ask meanwhile would split the votes.
local function keep(channel)
  if turned >= MOST_TURNS then
    turns, turned = {}, 0 -- what is forgotten is kept for nobody
  end
  local now, lock = clock(), the_lock()
  turned = turns[lock] and turned or turned + 1
  turns[lock] = {channel = channel, at = now, till = now + KEPT}
end

-- kept answers who is not the one that was told, if the lock is free and that one may still come; nil if there is none.
local function kept(channel, now)
  local lock = the_lock()
  local turn = turns[lock]
  if not turn then
    return nil
  end
  if turn.channel ~= channel and now >= turn.at and now < turn.till and redis.call('EXISTS', KEYS[1]) == 0 then
    return {'H', turn.till - now, mark(turn.channel), 0, 0, 'v', '', run_id()}
  end
  drop(lock)
  return nil
end

-- vote: ARGV 2 try, 3 ttl, 4 label, 5 when the token is decided on: later, in a second round; here, because there are no other nodes; or it is to be
-- without one. If somebody waits also 6 the channel on which it is told, 7 since when it waits, 8 whether it may be among those who wait (1 or 0).
local function vote()
  local now = clock()
  local st, reply = entered(now)
  if not st then
    return reply
  end
  local try, ttl, channel = ARGV[2], tonumber(ARGV[3]), ARGV[6]
  if ttl > longest(st) then
    return {'X'}
  end
  reply = is_dead(st, try, now) or st.left > 0 and {'U', st.left, now, run_id()}
  if reply then
    return reply
  end
  reply = channel and kept(channel, now) -- who does not wait is not kept out by those who do
  if reply then
    stand(tonumber(ARGV[7]), channel, ttl)
    return reply
  end
  local taken, token, state = ARGV[5] == 'without' and 0 or taken_by_now(st), 0, ARGV[5] == 'later' and 'v' or 'h'
  if ARGV[5] == 'here' then
    token = math.max(taken, now) + 1
  end
  reply = put(try, token, state, ARGV[4], ttl, now)
  if not reply then
    if ARGV[8] == '1' then
      redis.call('ZREM', waiting(), channel)
    end
    if ARGV[5] == 'without' then
      return now
    end
    if token > 0 then
      accept(st, token)
    end
    return {'G', taken, now, run_id(), token}
  end
  if reply[1] == 'H' and channel then
    stand(tonumber(ARGV[7]), channel, ttl)
  end
  return reply
end

-- owned returns the value of a try, or of the attempt's, if the key has it; else nil, and what to reply: it is gone, perhaps because it was broken.
local function owned(try)
  local value = redis.call('GET', KEYS[1])
  if value and string.sub(value, 1, #try) == try then
    local v = read(value)
    if v then
      return v
    end
  end
  local n, how, by = tomb(try)
  if n and how ~= '' then
    return nil, {'B', by, tonumber(how), 1}
  end
  return nil, {'N', value and 0 or 1}
end

-- take: ARGV 2 try, 3 token, 4 the state that the value gets: h or r.
local function take()
  local now = clock()
  local st, reply = entered(now)
  if not st then
    return reply
  elseif st.left > 0 then -- nobody believes in it yet, and it may have been forgotten here
    return {'U', st.left}
  end
  local v, gone = owned(ARGV[2])
  if not v then
    return gone
  end
  local token = tonumber(ARGV[3])
  accept(st, token)
  redis.call('SET', KEYS[1], value_of(v.try, token, v.since, v.state == 'b' and 'b' or ARGV[4], v.by, v.label), 'KEEPTTL')
  return DONE
end

-- renew: ARGV 2 try, 3 ttl; 0 only asks; with a minus before it the caller does not believe in its hold, but claims it.
local function renew()
  local now = clock()
  local st, reply = entered(now)
  if not st then
    return reply
  end
  local text = ARGV[3]
  local claims = string.sub(text, 1, 1) == '-'
  if claims then
    text = string.sub(text, 2)
  end
  if is_muted(st) or claims and st.left > 0 then
    return {'U', st.left}
  end
  local v, gone = owned(ARGV[2])
  if not v then
    return gone
  elseif v.state == 'b' then
    return {'B', v.by, 0, 0, math.max(0, redis.call('PTTL', KEYS[1])) * 1000}
  end
  local wish, left = millis(math.min(tonumber(text), longest(st))), redis.call('PTTL', KEYS[1])
  if left >= 0 and left < wish then
    redis.call('PEXPIRE', KEYS[1], wish)
    left = wish
  end
  return {'G', math.max(0, left) * 1000, v.state, run_id()}
end

-- repair: ARGV 2 try, 3 ttl, 4 label, 5 token.
local function repair()
  local now = clock()
  local st, reply = entered(now)
  if not st then
    return reply
  end
  local ttl, token = math.min(tonumber(ARGV[3]), longest(st)), tonumber(ARGV[5])
  reply = is_dead(st, ARGV[2], now) or st.left > 0 and {'U', st.left}
  if reply then
    return reply
  end
  reply = put(ARGV[2], token, 'r', ARGV[4], ttl, now)
  if not reply then
    accept(st, token)
  end
  return reply or {'G'}
end

-- tell_next tells the one who has waited longest that the lock is free here.
local function tell_next()
  if stood == 0 then
    return
  elseif clock() > stood and not behind then
    stood = 0
    return
  end
  local key = waiting()
  while true do
    local first = redis.call('ZRANGE', key, 0, 0)[1]
    if not first then
      return
    end
    redis.call('ZREM', key, first) -- it comes again, with the time that it has waited
    if redis.call('SPUBLISH', first, KEYS[1]) > 0 then
      keep(first)
      return
    end
  end
end

-- tell: somebody was told, and does not want it any more.
local function tell()
  drop(the_lock())
  if redis.call('EXISTS', KEYS[1]) == 0 then
    tell_next()
  end
  return {'G'}
end

-- release: ARGV 2 try, or attempt; 3 its ttl, 4 d: a request of it may still be on its way; q: nobody need be told; dq: both; '': none of it. If somebody of
-- the same client waits for the lock also 5 its channel, 6 since when.
local function release()
  local value = redis.call('GET', KEYS[1])
  local found = value and string.sub(value, 1, #ARGV[2]) == ARGV[2]
  if found then
    redis.call('DEL', KEYS[1])
  end
  if not found or string.find(ARGV[4], 'd', 1, true) then
    local n = string.sub(ARGV[2], ATTEMPT + 1)
    entomb(ARGV[2], n == '' and LAST_TRY or n, tonumber(ARGV[3]), '', '')
  end
  if ARGV[5] then
    stand(tonumber(ARGV[6]), ARGV[5], tonumber(ARGV[3]))
  end
  if (found or not value) and not string.find(ARGV[4], 'q', 1, true) then
    tell_next()
  end
  return found and DONE or {'N', value and 0 or 1}
end

-- break: ARGV 2 token, 3 whether at once (1 or 0), 4 who breaks it.
local function break_hold()
  local value = redis.call('GET', KEYS[1])
  local v = value and read(value)
  if not v or v.token ~= tonumber(ARGV[2]) then
    return {'N', value and 0 or 1}
  end
  local left = math.max(LEAST_TTL, redis.call('PTTL', KEYS[1]) * 1000) -- for so long its holder may believe in it, and ask
  if ARGV[3] == '1' then
    entomb(v.try, string.sub(v.try, ATTEMPT + 1), left, '1', ARGV[4])
    redis.call('DEL', KEYS[1])
    tell_next()
  else
    entomb(v.try, NO_TRY, 2 * left, '0', ARGV[4]) -- no try is dead, but its owner may ask why it ended
    redis.call('SET', KEYS[1], value_of(v.try, v.token, v.since, 'b', string.gsub(ARGV[4], '|', '/'), v.label), 'KEEPTTL')
  end
  return {'G'}
end

-- look: it replies what is left of the guard, how many wait, and as H; or N.
local function look_at()
  local now, info = clock(), primary_info()
  local value = redis.call('GET', KEYS[1])
  return {'G', guard_left(KEYS[2], ARGV[1], info), value and held(value, now) or {'N', 1}}
end

LETTERS = {
  v = {f = vote, args = 4}, V = {f = vote, args = 7}, p = {f = repair, args = 4},
  t = {f = take, args = 3}, n = {f = renew, args = 2}, r = {f = release, args = 3}, R = {f = release, args = 5},
}

-- Without allow-oom a server that is out of memory would refuse to let go of what is held. So what takes and what lets go are not sent together.
register('votes', several, {})
register('keeps', several, {'allow-oom'})
register('vote', vote, {})
register('take', take, {'allow-oom'})
register('renew', renew, {'allow-oom'})
register('repair', repair, {})
register('release', release, {'allow-oom'})
register('break', break_hold, {'allow-oom'})
register('tell', tell, {'allow-oom'})
register('look', look_at, {'no-writes'})
