-- Looks at all buckets of a call and takes one from each, or nothing from any.
-- KEYS[1]: the caller's counts. ARGV: the second its windows begin at, then name and limit of each bucket.
local WINDOW = 60
local now = tonumber(redis.call('TIME')[1])
local offset = tonumber(ARGV[1])
local window = math.floor((now - offset) / WINDOW)
local held = tonumber(redis.call('HGET', KEYS[1], 'window') or -1)
if held == window + 1 then
    -- The clock was set back a little: the window that was told goes on.
    window = held
elseif held ~= window then
    redis.call('DEL', KEYS[1])
end
local answer = { now, (window + 1) * WINDOW + offset }
local admitted = true
for place = 2, #ARGV, 2 do
    local count = tonumber(redis.call('HGET', KEYS[1], ARGV[place]) or 0)
    answer[#answer + 1] = count
    if count >= tonumber(ARGV[place + 1]) then admitted = false end
end
if admitted then
    redis.call('HSET', KEYS[1], 'window', window)
    for place = 2, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[place], 1) end
    redis.call('EXPIRE', KEYS[1], 2 * WINDOW)
end
return answer
