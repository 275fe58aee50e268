-- Checks all quotas of a call and increments each of them, or none if one is exceeded.
-- KEYS[1]: the counts of the caller. ARGV: the second at which its windows start, then key and limit of each quota.
local WINDOW = 60
local now = tonumber(redis.call('TIME')[1])
local offset = tonumber(ARGV[1])
local window = math.floor((now - offset) / WINDOW)
local stored = tonumber(redis.call('HGET', KEYS[1], 'window') or -1)
if stored == window + 1 then
    -- The clock was set back by less than a window: the reported window continues.
    window = stored
elseif stored ~= window then
    redis.call('DEL', KEYS[1])
end
local reply = { now, (window + 1) * WINDOW + offset }
local admitted = true
for index = 2, #ARGV, 2 do
    local count = tonumber(redis.call('HGET', KEYS[1], ARGV[index]) or 0)
    reply[#reply + 1] = count
    if count >= tonumber(ARGV[index + 1]) then admitted = false end
end
if admitted then
    redis.call('HSET', KEYS[1], 'window', window)
    for index = 2, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[index], 1) end
    redis.call('EXPIRE', KEYS[1], 2 * WINDOW)
end
return reply
