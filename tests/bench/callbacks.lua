-- For wrk: each request is the callback of another task. Arguments: FILE FIRST COUNT THREADS: the
-- file has a provider id a line, all of one length, already in the order in which they are to be
-- called back; FIRST is where to begin. Each thread takes a part of its own and stops at its end.
-- A fifth argument is how many milliseconds a connection pauses after an answer; a sixth and a seventh
-- are method and path, for peers that want the same body elsewhere.
-- done() prints one line of figures.
local BLOCK = 4096

local threads_made = 0

function setup(thread)
    thread:set("number", threads_made) -- a global there
    threads_made = threads_made + 1
end

function init(args)
    local first, count, threads = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
    file = assert(io.open(args[1], "r"))
    width = #file:read("*l") + 1
    local share = math.floor(count / threads)
    local pause = tonumber(args[5] or "0")
    if pause > 0 then
        delay = function() return math.random(0, 2 * pause) end
    end
    left = share
    file:seek("set", (first + number * share) * width)
    block, at = "", 1
    head = (args[6] or "POST") .. " " .. (args[7] or "/callback/sandbox") .. " HTTP/1.1\r\nHost: " .. wrk.host .. ":" .. wrk.port ..
        "\r\nConnection: keep-alive\r\nContent-Type: application/x-www-form-urlencoded" ..
        "\r\nContent-Length: "
    local body = "&code=ready"
    head = head .. (#"id=" + width - 1 + #body) .. "\r\n\r\nid="
    tail = body
end

function request()
    if at > #block then
        block = file:read(BLOCK * width) or ""
        at = 1
    end
    if left == 0 or block == "" then
        wrk.thread:stop() -- connections that still ask send the last one again: a duplicate
        return head .. id .. tail
    end
    left = left - 1
    id = string.sub(block, at, at + width - 2)
    at = at + width
    return head .. id .. tail
end

function done(summary, latency, requests)
    local e = summary.errors
    io.write(string.format(
        "figures requests=%d us=%d p50=%.0f p99=%.0f max=%.0f bad=%d lost=%d\n", summary.requests,
        summary.duration, latency:percentile(50), latency:percentile(99), latency.max, e.status,
        e.connect + e.read + e.write + e.timeout))
end
