-- What every library of ours begins with: the guard, reigns, proofs of contact, and the ceiling of tokens. The package comment of guard
-- says what it promises and why; this page says how. Before it stand "#!lua name=…" and the local LIBRARY, the same name; behind it the
-- package's own code, which uses what is local here (see "For the code behind this").
--
-- Every function gets
-- KEYS[1]  what it is about; KEYS[2] the store's key, a hash. find, open and note have KEYS[1] only, which is the store's key
-- ARGV[1]  the store's id (open writes and returns it)
--
-- Times are microseconds by the server's clock; durations come as microseconds.
--
-- Fields of the store's hash:
--   id, format    whose it is, a random text; of the keys
--   guard         how long nothing is granted when something may have been forgotten; 0: off
--   ceiling       no token that was given is greater
--   reign         the replication id that is trusted: nothing was forgotten in it
--   lag, replicas how old a proof of contact may be, and of how many replicas
--   list          what all clients must agree on, a text of theirs; never overwritten
--   born          when it was set up
--   doubted       1: this server may stand for another one, so that how long it has been up says nothing of what was granted
--   nodes         what a client has noted of the nodes; a text of theirs
--   beat          when something was written last for the replicas to acknowledge
--
-- Replies are arrays; the first element tells which. These mean the same everywhere:
--   U left   nothing is granted for so long: the guard
--   P        it is not proved that this is still the primary: let the replicas answer (prove, WAIT), and ask again
--   S        this is not the store that was opened: open it again
--   E text   one of several calls failed
--
-- For the code behind this:
--   register(name, f, flags)   makes f a function of the library; it finds its KEYS and ARGV, and begins without a moment
--   clock()                    the time; behind, moment, was_later: a clock that was set back
--   enter(now)                 the store, or nil: then the answer is {'S'}. What can grant or renew begins with it, and then
--   unproved(st, now)          the answer to give instead, or nil
--   st.left                    of the guard: nothing is granted, handed over or claimed while it is not 0
--   is_muted(st)               nor is anything renewed
--   is_open(st, now)           none of this
--   longest(st)                the longest TTL
--   last                       the greatest token that was given: who gives a greater one writes it here; if it is then above st.ceiling,
--   raise_ceiling(st, now)     is called before the token is answered
--   guard_left(key, id, info)  for who only looks; info is primary_info(), which refuses a replica
--   millis(d)                  a time to live for Redis
--   several                    is registered, under names of the package's own, for several calls in one request, and goes by
--   LETTERS                    which says for each letter which function it means (f), and how many arguments that has behind the id (args)

local REIGN_EVERY = 100000     -- how often the id of the reign is read again
local CEILING_STEP = 5000000   -- how far ahead of the tokens in use the durable ceiling is raised
local AHEAD = 1000             -- how far the ceiling is raised above tokens that are ahead of the clock
local CREDIT = 1000000         -- how much of the guard one call can prove to have passed
local LAG = 2000000            -- how old the proof may be that a primary still has its replicas, if nobody has said
local FENCE = 2000000          -- by so much longer than that a new primary renews nothing: see fence
local LEAST_TTL = 100000       -- what the guard leaves room for, at least
local NOTES = 32               -- how many looks at the replication offset are remembered
local REPLICA = 'slave%d+:ip=[^\r,]*,port=[1-9]%d*,state=online' -- of INFO; what makes a copy for itself alone, as redis-cli does, has no port
local DAY = 86400000000

-- What this server process remembers: the greatest token that it gave, and for each store its guard. It starts afresh with the process,
-- with a full resync, and when the library is loaded again; the store's key says whether that matters.
local last = 0
local stores = {}
local latest = 0         -- the latest time that this process has seen

local KEYS, ARGV, moment -- of the call at hand
local LETTERS
local MOST_ARGS = 7
local takes              -- how many calls of this request have taken a token off the clock
local behind             -- whether the clock was set back, and has not caught up yet

-- clock is the time; of all that is done in one request, the same.
local function clock()
  if not moment then
    local t = redis.call('TIME')
    moment = t[1] * 1000000 + t[2]
    if moment > latest or moment < latest - DAY then -- after a day nothing is left that was granted by the old clock
      latest = moment
    end
    behind = moment < latest - 1000000
  end
  return moment
end

-- was_later notes that the clock has been at t before. If it is not there now it was set back, in the time of another process or before
-- this library was loaded again: what is remembered here does not say so, but a record does.
local function was_later(t)
  if t > latest and t < moment + DAY then
    latest = t
    behind = moment < latest - 1000000
  end
end

-- millis is a time to live for Redis, which counts from the beginning of the current millisecond: never less than d.
local function millis(d) return math.ceil(d / 1000) + 1 end

---------------------------------------------------------------------------------------------------------------------------------
-- The store: its guard, its reigns, its ceiling.

-- has_received reports whether this process has received anything from a primary.
local function has_received()
  return not string.find(redis.call('INFO', 'stats'), 'total_net_repl_input_bytes:0\r', 1, true)
end

-- A server that never replicated, by its INFO, and has been up for longer than the guard cannot have forgotten a hold that still counts.
local function never_replicated(info, guard)
  local alone = string.find(info, 'role:master', 1, true) and string.find(info, 'connected_slaves:0\r', 1, true)
    and string.find(info, 'master_replid2:0+\r') and string.find(info, 'master_repl_offset:0\r', 1, true)
  if not alone then
    return false
  end
  -- One that was a replica, and of which even the second id was forgotten since, has received something.
  if has_received() then
    return false
  end
  -- Redis counts the beginnings of seconds: it says 1 when it has been up for a moment, if a second has begun in it.
  local up = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
  return up and (tonumber(up) - 1) * 1000000 >= guard
end

-- is_old reports whether nothing can have been granted here that is forgotten and still counts.
local function is_old(key, info, guard)
  return never_replicated(info, guard) and redis.call('HGET', key, 'doubted') ~= '1'
end

local function write_store(key, st)
  redis.call('HSET', key, 'id', st.id, 'format', 1, 'guard', string.format('%.0f', st.guard),
    'ceiling', string.format('%.0f', st.ceiling), 'reign', st.trusted, 'lag', string.format('%.0f', st.lag), 'replicas', st.replicas)
  if st.list then
    redis.call('HSET', key, 'list', st.list)
  end
end

-- fence is how long a new reign renews nothing: an old primary that has lost its replicas grants and renews for st.lag at most. It is 0 for
-- a server that never had any.
local function fence(st) return st.lag > 0 and st.lag + FENCE or 0 end

-- longest is the longest TTL: whatever an old primary has granted is over, even if it was granted a fence after the new one was first
-- asked, before that one's guard is.
local function longest(st) return st.guard > 0 and st.guard - fence(st) or math.huge end

-- is_muted: an old primary may still grant and renew, and renewals here could meet what it grants there.
local function is_muted(st) return st.left > 0 and st.left > st.guard - fence(st) end

-- acknowledged returns the offset that k replicas have acknowledged at least, by INFO; -1 if there are not as many.
local function acknowledged(info, k)
  local offsets = {}
  for offset in string.gmatch(info, REPLICA .. ',offset=(%d+)') do
    offsets[#offsets + 1] = tonumber(offset)
  end
  table.sort(offsets, function(a, b) return a > b end)
  return offsets[k] or -1
end

-- contact proves, if it can, that this primary has its replicas: what a replica acknowledges beyond an offset that was noted here was
-- written after that moment, so that it followed this server then. When an acknowledgement was read says nothing: it may have waited in
-- the socket while this process stood still. Notes of another reign, and of a clock that was set back since, prove nothing.
local function contact(st, info, reign, now)
  local notes = st.notes
  local newest = notes[#notes]
  if st.noted ~= reign or newest and newest.at > now or st.proved > now then
    notes, newest, st.noted, st.proved = {}, nil, reign, 0
    st.notes = notes
  end
  local known = acknowledged(info, st.replicas)
  local proof = 0
  for i = #notes, 1, -1 do
    if notes[i].offset < known then
      proof = i
      break
    end
  end
  if proof > 0 then
    st.proved = math.max(st.proved, notes[proof].at)
    for i = proof, 1, -1 do
      table.remove(notes, i) -- nothing newer will be proved by them
    end
  end
  local offset = tonumber(string.match(info, 'master_repl_offset:(%d+)') or 0)
  if newest and newest.offset == offset then
    newest.at = now -- nothing was written since: what follows proves as much
  elseif #notes < NOTES then
    notes[#notes + 1] = {at = now, offset = offset}
  elseif now - newest.at > st.lag / NOTES then
    table.remove(notes, 1)
    notes[#notes + 1] = {at = now, offset = offset}
  end
end

-- is_proved reports whether this server is known to be the primary still.
local function is_proved(st, now)
  return st.replicas == 0 or st.guard == 0 or st.lag == 0 or now >= st.proved and now - st.proved < st.lag
end

-- beat writes something, for the replicas to acknowledge.
local function beat(key, now) redis.call('HSET', key, 'beat', string.format('%.0f', now)) end

-- remembered is what the store's key says, or nil.
local function remembered(id, kept, now)
  if not kept[1] then
    return nil
  end
  local st = {id = id, guard = tonumber(kept[2]), ceiling = tonumber(kept[3]), trusted = kept[4], reign = '', left = 0, heard = now,
    lag = 0, replicas = 0, notes = {}, proved = 0}
  last = math.max(last, st.ceiling) -- whatever was given before, it was not more
  return st
end

-- has_replicas reports whether somebody follows this server, or it has followed somebody.
local function has_replicas(info)
  if string.find(info, REPLICA) then
    return true
  end
  -- A second id may come from the server's own file, too.
  return not string.find(info, 'master_replid2:0+\r') and has_received()
end

-- learn takes over what is kept of the replicas, and the list, which is only kept here to be written again. A store on a server with replicas has a fence, from when that is first seen, if its guard
-- leaves room for it.
local function learn(st, kept, info)
  if kept[1] then
    st.lag, st.replicas, st.list = tonumber(kept[5] or 0), tonumber(kept[6] or 0), kept[7]
  end
  if string.find(info, 'min_slaves_good_slaves:', 1, true) then -- it asks for some, whether the key says so yet or not
    st.replicas = math.max(st.replicas, 1)
  end
  if st.lag == 0 and st.guard >= LAG + FENCE + LEAST_TTL and (st.replicas > 0 or has_replicas(info)) then
    st.lag = LAG
    return true
  end
  return false
end

-- begins_reign: the server has another replication id than before, or this library remembers none. Unless the store's key trusts exactly
-- this one, holds may have been granted that are not known here.
local function begins_reign(key, st, reign, info, ceiling, now)
  st.left = st.guard
  if st.guard == 0 or st.trusted == reign or is_old(key, info, st.guard) then
    st.left = 0
  end
  st.reign, st.heard = reign, now
  last = math.max(last, ceiling) -- another process may have given more since
  if st.left > 0 and st.lag > 0 then
    -- What it gave after its last ceiling was sent here, it gave within a fence; and until lag from now, by a clock that is ahead of this
    -- one by less than the guard.
    last = math.max(last, ceiling + fence(st), now + st.guard + st.lag)
  end
end

-- primary_info is INFO of the replication. A replica is no primary, though it may be set up to be written to: what it is asked fails.
local function primary_info()
  local info = redis.call('INFO', 'replication')
  if not string.find(info, 'role:master', 1, true) then
    error({err = 'READONLY this is a replica'})
  end
  return info
end

-- look reads the store's key and the reign. It returns nil when the store is not the one that the caller has opened.
local function look(key, id, now)
  local kept = redis.call('HMGET', key, 'id', 'guard', 'ceiling', 'reign', 'lag', 'replicas', 'list')
  if kept[1] and kept[1] ~= id then
    stores[id] = nil
    return nil
  end
  local st = stores[id] or remembered(id, kept, now)
  if not st then
    return nil
  end
  stores[id] = st
  local info = primary_info()
  local reign = string.match(info, 'master_replid:(%x+)') or ''
  local changed = learn(st, kept, info)
  if st.replicas > 0 then
    contact(st, info, reign, now)
    if not is_proved(st, now) then
      return st -- and nothing of it counts: the guard neither begins nor goes on
    end
  end
  if st.reign ~= reign then
    begins_reign(key, st, reign, info, tonumber(kept[3] or 0), now)
  elseif st.left > 0 then
    st.left = math.max(0, st.left - math.min(math.max(0, now - st.heard), CREDIT))
    st.heard = now
  end
  st.ceiling = math.max(st.ceiling, tonumber(kept[3] or 0)) -- another version of this library may have raised it
  if st.left == 0 and st.trusted ~= reign then -- a reign that has become safe
    st.trusted, changed = reign, true
    if redis.call('HGET', key, 'doubted') == '1' then
      redis.call('HSET', key, 'doubted', 0) -- the guard was served
    end
  end
  if changed or not kept[1] then -- or flushed by somebody
    write_store(key, st)
  end
  st.seen = now
  return st
end

-- enter returns the store, or nil. Every function that can grant or renew begins with it, and does neither if is_proved denies it.
local function enter(now)
  local st = stores[ARGV[1]]
  if st and st.left == 0 and st.seen and now >= st.seen and now - st.seen < REIGN_EVERY and is_proved(st, now) then
    return st
  end
  return look(KEYS[2], ARGV[1], now)
end

-- unproved answers who wants what only a primary may give, if it is not proved that this is one; nil if it is.
local function unproved(st, now)
  if is_proved(st, now) then
    return nil
  end
  beat(KEYS[2], now)
  return {'P'}
end

-- is_open reports whether locks may be granted.
local function is_open(st, now) return st.left == 0 and is_proved(st, now) end

-- raise_ceiling keeps the durable ceiling above the last token. Ahead of the clock, not of the tokens: else each loss of this memory
-- would send them further ahead.
local function raise_ceiling(st, now)
  local step = st.guard > 0 and math.min(CEILING_STEP, st.guard / 2) or CEILING_STEP
  st.ceiling = math.max(now + step, last + AHEAD, tonumber(redis.call('HGET', KEYS[2], 'ceiling') or 0))
  redis.call('HSET', KEYS[2], 'ceiling', string.format('%.0f', st.ceiling))
end

-- guard_left is what is left of the guard, for those who only look: nothing begins, or goes on, because somebody looks.
local function guard_left(key, id, info)
  local reign, st = string.match(info, 'master_replid:(%x+)'), stores[id]
  if st and st.reign == reign then
    return st.left
  end
  local kept = redis.call('HMGET', key, 'id', 'guard', 'reign')
  if kept[1] ~= id or kept[3] == reign or is_old(key, info, tonumber(kept[2])) then
    return 0
  end
  return tonumber(kept[2])
end

---------------------------------------------------------------------------------------------------------------------------------
-- Functions.

-- find: KEYS[1] the store's key. It replies id, format, guard of the store, how old a proof of contact may be and how many replicas it
-- takes, what was noted of its nodes, and its list; or nothing. It writes nothing, so that who only looks can look at a server that refuses
-- to write.
local function find_store()
  local kept = redis.call('HMGET', KEYS[1], 'id', 'format', 'guard', 'lag', 'replicas', 'nodes', 'list')
  if not kept[1] then
    return {}
  end
  return {kept[1], tonumber(kept[2]), tonumber(kept[3]), tonumber(kept[4] or 0), tonumber(kept[5] or 0), kept[6] or '', kept[7] or ''}
end

-- note: KEYS[1] the store's key, ARGV 1 its id, 2 what a client wants to be noted of the nodes. Nothing here reads it.
local function note()
  if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
    redis.call('HSET', KEYS[1], 'nodes', ARGV[2])
  end
  return {'G'}
end

-- open: KEYS[1] the store's key; ARGV 1 an id for a new store, 2 its guard, 3 how old a proof of contact may be (0: there are no replicas;
-- a store that has had some keeps what it has), 4 how many replicas it takes, 5 what all clients must agree on, if there is something: the
-- first who says it decides; 6 whether the server is doubted (1 or 0). It replies as find does.
local function open()
  local is_new, list = #find_store() == 0, ARGV[5] or ''
  if is_new then
    redis.call('HSET', KEYS[1], 'id', ARGV[1], 'format', 1, 'guard', ARGV[2], 'ceiling', '0', 'reign', '', 'born', string.format('%.0f', clock()))
    if ARGV[6] == '1' then
      redis.call('HSET', KEYS[1], 'doubted', 1)
    end
  end
  if list ~= '' and (is_new or not redis.call('HGET', KEYS[1], 'list')) then
    redis.call('HSET', KEYS[1], 'list', list)
  end
  redis.call('HSET', KEYS[1], 'replicas', ARGV[4])
  if ARGV[3] ~= '0' then
    redis.call('HSET', KEYS[1], 'lag', ARGV[3])
  end
  return find_store()
end

-- prove: KEYS as the others. The caller sends WAIT behind it, on the same connection, so that the replicas acknowledge what it writes.
local function prove()
  local now = clock()
  local st = look(KEYS[2], ARGV[1], now)
  if not st then
    return {'S'}
  end
  beat(KEYS[2], now)
  return {'G'}
end

-- several carries out several calls in one request, each for itself. KEYS: the store's key, and what each call is about; ARGV 1 the store's id,
-- then, for each call, its letter and its arguments behind that id. It replies an array of their replies.
local function several()
  local keys, args = KEYS, ARGV
  local replies, at = {}, 2
  KEYS, ARGV = {nil, keys[1]}, {args[1]} -- the same tables for all: to make new ones takes long
  for i = 2, #keys do
    local called = LETTERS[args[at]]
    KEYS[1] = keys[i]
    for j = 1, MOST_ARGS do
      ARGV[j + 1] = j <= called.args and args[at + j] or nil
    end
    at = at + called.args + 1
    local fine, reply = pcall(called.f)
    if not fine then
      reply = {'E', type(reply) == 'table' and reply.err or tostring(reply)}
    end
    replies[i - 1] = reply
  end
  return replies
end

local function register(name, f, flags)
  redis.register_function{function_name = LIBRARY .. '_' .. name, flags = flags, callback = function(keys, args)
    KEYS, ARGV, moment, takes = keys, args, nil, 0
    return f()
  end}
end

register('find', find_store, {'no-writes'})
register('open', open, {})
register('note', note, {})
register('prove', prove, {'allow-oom'}) -- what needs a proof may do without memory
