namespace RedKite.Scripting;

/// <summary>
/// The part of the environment that is written in Lua 5.4: functions of Lua 5.1 that 5.4 lacks or changed, and the protection of shared tables.
/// </summary>
/// <remarks>
/// Scripts see shared tables through empty ones whose metatables refuse writes, because stock Lua has no read-only tables. Locals have
/// the names of the functions that they hold: Lua's messages name them. Lines of this chunk in messages become those of the script.
/// </remarks>
internal static class Prelude
{
    internal const string Source = """
        local raw, FAILED, null = ...
        local type, select, getmetatable, setmetatable, rawget, rawset, next = type, select, getmetatable, setmetatable, rawget, rawset, next
        local rawlen, error, xpcall, ipairs, tostring, number, collectgarbage = rawlen, error, xpcall, ipairs, tostring, tonumber, collectgarbage
        local len, lower, upper, reverse, byte, char = string.len, string.lower, string.upper, string.reverse, string.byte, string.char
        local sub, rep, find, match, gmatch = string.sub, string.rep, string.find, string.match, string.gmatch
        local sort, unpack = table.sort, table.unpack
        local floor, fmod, modf = math.floor, math.fmod, math.modf
        local mtype, tointeger, mininteger = math.type, math.tointeger, math.mininteger
        local create, resume, running, status, yield = coroutine.create, coroutine.resume, coroutine.running, coroutine.status, coroutine.yield
        local call, effect, numtext, ending, concatenate = raw.call, raw.effect, raw.numtext, raw.ending, raw.concatenate

        -- Another thread raises the flag. Every loop whose length a script decides looks at it, and lets tick end the script.
        local interrupted = false
        local function tick()
          local failure = raw.tick()
          if failure then error(failure, 0) end
        end
        local function holder() return interrupted end

        -- Errors of managed functions.
        local function check(...)
          local first, message, hasNoPosition = ...
          if first == FAILED then
            if hasNoPosition then error(message, 0) end
            error(message)
          end
          return ...
        end
        local function managed(f) return function(...) return check(f(...)) end end
        local function values(...) return ... end
        local function checkReply(...)
          local first, message = ...
          if first == FAILED then error({err = 'ERR ' .. message}, 0) end
          return ...
        end
        local function managedReply(f) return function(...) return checkReply(f(...)) end end

        -- Errors of arguments, in Lua 5.1's words. The count of arguments tells nil from a missing one.
        local function isText(v) local t = type(v) return t == 'string' or t == 'number' end
        local function bad(i, name, expected, v, count)
          error('bad argument #' .. i .. " to '" .. name .. "' (" .. expected .. ' expected, got ' .. (count and count < i and 'no value' or type(v)) .. ')')
        end
        local function needTable(name, ...)
          local t = ...
          if type(t) ~= 'table' then bad(1, name, 'table', t, select('#', ...)) end
        end
        local function needValues(count, name, given)
          if given < count then error('bad argument #' .. given + 1 .. " to '" .. name .. "' (value expected)") end
        end

        -- Numbers as text and as integers.
        local function str(v) if mtype(v) then return numtext(v) end return v end
        -- What C's cast makes of a number: cut, or the smallest integer where it does not fit.
        local tonum = raw.tonumber
        local function int(v)
          local kind = mtype(v)
          if kind == 'float' then
            if v >= 0 then
              if v < 0x1p53 then return v // 1 end
            elseif v > -0x1p53 then
              return -((-v) // 1)
            end
            return tointeger(v) or mininteger
          elseif kind == nil and type(v) == 'string' then
            local n = tonum(v)
            if n then return int(n) end
          end
          return v
        end
        local function int32(v)
          v = int(v)
          if mtype(v) and (v < -0x80000000 or v > 0x7fffffff) then return ((tointeger(v) + 0x80000000) & 0xffffffff) - 0x80000000 end
          return v
        end

        local shadow = {} -- read-only table -> what it shows
        local function readonly() error('Attempt to modify a readonly table') end
        local function protect(t)
          local p = setmetatable({}, {__index = t, __newindex = readonly, __metatable = false})
          shadow[p] = t
          return p
        end

        local G = {}
        local envmeta = {__index = G, __newindex = readonly, __metatable = false}
        local env = setmetatable({}, envmeta)
        shadow[env] = G
        local strict = {__index = function(_, name)
          error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'")
        end}
        setmetatable(G, strict)
        local none = protect({})

        """ + PreludeStrings.Source + """

        -- Arithmetic on strings.
        local stringmeta = getmetatable('')
        for k in next, stringmeta do stringmeta[k] = nil end
        stringmeta.__index = S
        local function arithmetic(v) return (type(v) == 'string' or type(v) == 'number') and tonum(v) end
        local function operand(a, b)
          local x, y = tonum(a), tonum(b)
          if x == nil or (type(a) ~= 'string' and type(a) ~= 'number') then error('attempt to perform arithmetic on \1a ' .. type(a) .. ' value') end
          if y == nil or (type(b) ~= 'string' and type(b) ~= 'number') then error('attempt to perform arithmetic on \2a ' .. type(b) .. ' value') end
          return x, y
        end
        function stringmeta.__add(a, b) a, b = operand(a, b) return a + b end
        function stringmeta.__sub(a, b) a, b = operand(a, b) return a - b end
        function stringmeta.__mul(a, b) a, b = operand(a, b) return a * b end
        function stringmeta.__div(a, b) a, b = operand(a, b) return a / b end
        function stringmeta.__mod(a, b) a, b = operand(a, b) return a - (a / b) // 1 * b end
        function stringmeta.__pow(a, b) a, b = operand(a, b) return a ^ b end
        function stringmeta.__unm(a) a = operand(a, 0) return -a end
        stringmeta.__metatable = false

        -- Concatenation beyond strings and numbers: the translated text calls these.
        local function concatenateSlowly(names, ...)
          local n = select('#', ...)
          local v = {...}
          local at = 0
          local name = {}
          for part in gmatch(names .. '|', '([^|]*)|') do at = at + 1 name[at] = part end
          local right = v[n]
          for i = n - 1, 1, -1 do
            local left = v[i]
            if isText(left) and isText(right) then
              right = concatenate(left, right)
            else
              local m = getmetatable(left)
              local f = type(m) == 'table' and rawget(m, '__concat')
              if not f then m = getmetatable(right) f = type(m) == 'table' and rawget(m, '__concat') end
              if not f then
                local bad, which = left, name[i]
                if isText(left) then bad, which = right, (i == n - 1 and name[n] or '') end
                if which == '' or which == nil then error('attempt to concatenate a ' .. type(bad) .. ' value') end
                error('attempt to concatenate ' .. which .. ' (a ' .. type(bad) .. ' value)')
              end
              right = (f(left, right))
            end
          end
          return right
        end
        local function joined(s, m, names, ...)
          if s == FAILED then error(m, 0) end
          if s == nil then return (concatenateSlowly(names, ...)) end
          return s
        end
        local function c2(names, a, b)
          local s, m = concatenate(a, b)
          if s == nil or s == FAILED then return (joined(s, m, names, a, b)) end
          return s
        end
        local function c3(names, a, b, c)
          local s, m = concatenate(a, b, c)
          if s == nil or s == FAILED then return (joined(s, m, names, a, b, c)) end
          return s
        end
        local function c(names, ...)
          local s, m = concatenate(...)
          if s == nil or s == FAILED then return (joined(s, m, names, ...)) end
          return s
        end
        -- a % b is a - floor(a / b) * b in Lua 5.1, whose result differs for fractions, large numbers and infinities.
        local function modulo(names, a, b)
          if mtype(a) and mtype(b) then return a - (a / b) // 1 * b end
          local m = getmetatable(a)
          local f = type(m) == 'table' and rawget(m, '__mod')
          if not f then m = getmetatable(b) f = type(m) == 'table' and rawget(m, '__mod') end
          if f then return (f(a, b)) end
          local x, y = arithmetic(a), arithmetic(b)
          if x and y then return x - (x / y) // 1 * y end
          local left, right = match(names, '^(.*)|(.*)$')
          local bad, which = a, left
          if x then bad, which = b, right end
          if which == '' then error('attempt to perform arithmetic on a ' .. type(bad) .. ' value') end
          error('attempt to perform arithmetic on ' .. which .. ' (a ' .. type(bad) .. ' value)')
        end
        -- a % b where many of them follow each other: written as a // remainder // b, because calls would be nested too deeply.
        local remainder
        local pending = {__metatable = false} -- the metatable of {a}
        function pending.__idiv(a, b)
          if rawequal(b, remainder) then return setmetatable({a}, pending) end
          return (modulo('|', rawget(a, 1), b))
        end
        remainder = setmetatable({}, pending)

        -- Lengths, where a script may make tables with holes. The first such script makes the functions of tables see what it sees.
        local length = raw.length
        local function lengthOf(names, v)
          if names == nil then rawlen = length return end
          local kind = type(v)
          if kind == 'table' then return (length(v)) end
          if kind == 'string' then return len(v) end
          if names == '' then error('attempt to get length of a ' .. kind .. ' value') end
          error('attempt to get length of ' .. names .. ' (a ' .. kind .. ' value)')
        end

        -- The basic functions.
        G._G = env
        G._VERSION = 'Lua 5.1'
        G.type, G.rawequal = type, rawequal
        function G.select(n, ...)
          if n ~= '#' and mtype(n) ~= 'integer' then n = int32(n) end
          return select(n, ...)
        end
        function G.error(message, level)
          if mtype(message) then message = numtext(message) end
          level = level == nil and 1 or int(level)
          if not mtype(level) then bad(2, 'error', 'number', level) end
          error(message, level == 0 and 0 or level + 1)
        end
        function G.assert(...)
          local v, message = ...
          if v then return ... end
          if select('#', ...) == 0 then error("bad argument #1 to 'assert' (value expected)") end
          if message == nil then message = 'assertion failed!' end
          if not isText(message) then error("bad argument #2 to 'assert' (string expected, got " .. type(message) .. ')') end
          error(str(message))
        end
        -- An error table becomes its text, and an error that ends the script goes on.
        local function caught(ok, ...)
          if ok then return ok, ... end
          local failure = ending()
          if failure then error(failure, 0) end
          local e = ...
          if type(e) == 'table' then
            local text = rawget(e, 'err')
            if isText(text) then return false, text end
            return false, e, text -- as Redis's own pcall leaves its stack
          end
          return false, e
        end
        local handler = raw.handler
        function G.pcall(...)
          if select('#', ...) == 0 then return false, 'attempt to call a boolean value' end -- what Redis's own pcall makes of it
          return (function(f, ...) return caught(xpcall(f, handler, ...)) end)(...)
        end
        function G.xpcall(...)
          local f, h = ...
          if select('#', ...) < 2 then error("bad argument #2 to 'xpcall' (value expected)") end
          return (function(ok, ...)
            local failure = not ok and ending()
            if failure then error(failure, 0) end
            return ok, ...
          end)(xpcall(f, function(e)
            e = handler(e)
            if ending() then return e end
            if type(h) ~= 'function' then return 'error in error handling' end
            return h(e)
          end))
        end
        function G.tostring(...)
          local v = ...
          if mtype(v) then return numtext(v) end
          if v == nil then needValues(1, 'tostring', select('#', ...)) end
          local m = getmetatable(v)
          if type(m) == 'table' then
            local f = rawget(m, '__tostring')
            if f then return (f(v)) end
          end
          return (tostring(v))
        end
        -- Lua reads short texts as Lua 5.1 does, but not -0, inf and nan; of longer integers it keeps more digits.
        local function tonumberOfOne(v)
          if envmeta.__index ~= G then return env.tonumber(v) end -- a library is loaded: it has none
          if type(v) == 'string' and len(v) < 16 then
            local n = number(v)
            if n and n ~= 0 then return n + 0.0 end
          end
          return (tonum(v))
        end
        G.tonumber = function(...)
          local v, base = ...
          if base == nil then
            if v == nil then needValues(1, 'tonumber', select('#', ...)) end
            return tonumberOfOne(v)
          end
          return (check(raw.tonumberbase(v, base)))
        end
        local function realNext(t, k)
          return next(shadow[t] or t, k)
        end
        function G.next(...)
          local t, k = ...
          needTable('next', ...)
          if mtype(k) == 'float' then k = tointeger(k) or k end -- Lua 5.4 finds a whole number among a table's keys only as an integer
          return realNext(t, k)
        end
        function G.pairs(...)
          local t = ...
          needTable('pairs', ...)
          local s = shadow[t]
          if s then return realNext, t, nil end
          return next, t, nil
        end
        local function step(t, i)
          i = i + 1
          local v = rawget(t, i)
          if v ~= nil then return i, v end
        end
        function G.ipairs(...)
          local t = ...
          needTable('ipairs', ...)
          return step, shadow[t] or t, 0
        end
        function G.rawget(...)
          local t, k = ...
          needTable('rawget', ...)
          if k == nil then needValues(2, 'rawget', select('#', ...)) end
          return (rawget(shadow[t] or t, k))
        end
        function G.rawset(...)
          local t, k, v = ...
          needTable('rawset', ...)
          if v == nil then needValues(3, 'rawset', select('#', ...)) end
          if shadow[t] then error('Attempt to modify a readonly table', 0) end
          return rawset(t, k, v)
        end
        local shownStringmeta = protect({__index = protect(S)})
        function G.getmetatable(...)
          local v = ...
          if v == nil then needValues(1, 'getmetatable', select('#', ...)) end
          if type(v) == 'string' then return shownStringmeta end
          if v == env then return none end
          local m = getmetatable(v)
          if m == false then return nil end
          return m
        end
        function G.setmetatable(...)
          local t, m = ...
          needTable('setmetatable', ...)
          if type(m) ~= 'table' and (m ~= nil or select('#', ...) < 2) then error("bad argument #2 to 'setmetatable' (nil or table expected)") end
          if shadow[t] then error('Attempt to modify a readonly table', 0) end
          -- Tables have no finalizers in Lua 5.1, and no script may run during a collection.
          local finalizer = m and rawget(m, '__gc')
          if finalizer ~= nil then rawset(m, '__gc', nil) end
          setmetatable(t, m)
          if finalizer ~= nil then rawset(m, '__gc', finalizer) end
          return t
        end
        function G.unpack(...)
          local t, i, j = ...
          needTable('unpack', ...)
          t = shadow[t] or t
          local results = 8000 - (j ~= nil and 3 or i ~= nil and 2 or 1) -- as many as Lua 5.1's stack of C functions takes
          i = int32(i) or 1
          j = j == nil and rawlen(t) or int32(j)
          if mtype(i) and mtype(j) and j - i >= results then error('too many results to unpack') end
          return unpack(t, i, j)
        end
        function G.loadstring(...)
          local s, name = ...
          if not isText(s) then bad(1, 'loadstring', 'string', s, select('#', ...)) end
          if name ~= nil and not isText(name) then bad(2, 'loadstring', 'string', name) end
          local f, message = raw.load(str(s), name == nil and s or str(name))
          if f == FAILED then error(message) end
          return f, message
        end
        -- An error of the function that reads is a result.
        local function partRead(ok, ...)
          if ok then return ok, ... end
          local failure = ending()
          if failure then error(failure, 0) end
          return ok, ...
        end
        function G.load(...)
          local f, name = ...
          if name ~= nil and not isText(name) then bad(2, 'load', 'string', name) end
          if type(f) ~= 'function' then bad(1, 'load', 'function', f, select('#', ...)) end
          local parts, n = {}, 0
          while true do
            if interrupted then tick() end
            local ok, part = partRead(xpcall(f, handler))
            if not ok then return nil, part end
            if part == nil or part == '' then break end
            if type(part) ~= 'string' then return nil, 'reader function must return a string' end
            n = n + 1
            parts[n] = part
          end
          local g, message = raw.load(raw.tableconcat(parts), name == nil and '=(load)' or str(name))
          if g == FAILED then return nil, message end
          return g, message
        end
        function G.collectgarbage(what, n)
          if what ~= nil and not isText(what) then bad(1, 'collectgarbage', 'string', what) end
          if what == 'count' then return (collectgarbage('count')) end
          if what == nil or what == 'collect' then collectgarbage('collect') return 0.0 end
          if what == 'step' then return (collectgarbage('step')) end
          if what ~= 'stop' and what ~= 'restart' and what ~= 'setpause' and what ~= 'setstepmul' then
            error("bad argument #1 to 'collectgarbage' (invalid option '" .. str(what) .. "')")
          end
          return 0.0
        end
        function G.gcinfo() return collectgarbage('count') // 1 end

        """ + PreludeTables.Source + """

        -- Mathematics.
        local M = {}
        for _, name in ipairs({'abs', 'acos', 'asin', 'cos', 'deg', 'exp', 'rad', 'sin', 'sqrt', 'tan'}) do M[name] = math[name] end
        for _, name in ipairs({'atan', 'atan2', 'cosh', 'frexp', 'ldexp', 'log', 'log10', 'pow', 'random', 'randomseed', 'sinh', 'tanh'}) do M[name] = managed(raw['math.' .. name]) end
        M.huge, M.pi = math.huge, math.pi
        function M.floor(x)
          if mtype(x) then return x // 1.0 end
          return floor(x) + 0.0
        end
        function M.ceil(x)
          if mtype(x) then return -(-x // 1.0) end
          return -floor(-(arithmetic(x) or bad(1, 'ceil', 'number', x)))
        end
        local function floatsOf(name, ...)
          local numbers = {...}
          for i = 1, select('#', ...) do
            local v = numbers[i]
            numbers[i] = arithmetic(v) or error('bad argument #' .. i .. " to '" .. name .. "' (number expected, got " .. type(v) .. ')', 3)
          end
          return unpack(numbers)
        end
        local max, min = math.max, math.min
        function M.max(...)
          local a, b = ...
          if mtype(a) and mtype(b) and select('#', ...) == 2 then return max(a, b) end
          return max(floatsOf('max', ...))
        end
        function M.min(...)
          local a, b = ...
          if mtype(a) and mtype(b) and select('#', ...) == 2 then return min(a, b) end
          return min(floatsOf('min', ...))
        end
        local function float(v) if mtype(v) then return v * 1.0 end return v end
        function M.fmod(...)
          local a, b = ...
          local y = tonum(b) or bad(2, 'fmod', 'number', b, select('#', ...))
          local x = tonum(a) or bad(1, 'fmod', 'number', a)
          return fmod(float(x), float(y))
        end
        M.mod = M.fmod
        local zero = -0.0
        function M.modf(...)
          local x = ...
          local n = arithmetic(x) or bad(1, 'modf', 'number', x, select('#', ...))
          if n ~= n then return modf(n) end
          local cut = n < 0 and -(-n // 1.0) or n // 1.0
          local rest = n - cut
          if rest == 0 or cut == n then rest = (n < 0 or 1 / n < 0) and zero or 0.0 end
          return n == 0 and n * 1.0 or cut, rest
        end

        local C = {yield = yield}
        local function needFunction(f, name)
          if type(f) ~= 'function' then error("bad argument #1 to '" .. name .. "' (Lua function expected)") end
        end
        local function needCoroutine(co, name)
          if type(co) ~= 'thread' then error("bad argument #1 to '" .. name .. "' (coroutine expected)") end
        end
        function C.create(f) needFunction(f, 'create') return create(f) end
        function C.status(co) needCoroutine(co, 'status') return status(co) end
        local located = raw.located -- the message as it is for the coroutine that raised it
        local function resumed(co, ok, ...)
          if ok then return ok, ... end
          local failure = ending()
          if failure then error(failure, 0) end
          return ok, located(co, (...))
        end
        local function wrapped(co, ok, ...)
          if ok then return ... end
          local failure = ending()
          if failure then error(failure, 0) end
          local e = located(co, (...))
          error(e, isText(e) and 3 or 0)
        end
        function C.resume(co, ...)
          needCoroutine(co, 'resume')
          local state = status(co)
          if state == 'running' or state == 'normal' then return false, 'cannot resume ' .. state .. ' coroutine' end
          return resumed(co, resume(co, ...))
        end
        function C.wrap(f)
          needFunction(f, 'wrap')
          local co = create(f)
          return function(...) return values(wrapped(co, resume(co, ...))) end
        end
        function C.running()
          local thread, main = running()
          if main then return nil end
          return thread
        end

        local R = {
          LOG_DEBUG = 0.0, LOG_VERBOSE = 1.0, LOG_NOTICE = 2.0, LOG_WARNING = 3.0,
          REPL_NONE = 0.0, REPL_AOF = 1.0, REPL_SLAVE = 2.0, REPL_REPLICA = 2.0, REPL_ALL = 3.0,
          REDIS_VERSION = '8.0.2', REDIS_VERSION_NUM = 524290.0,
        }
        function R.call(...)
          local v, failed = call(...)
          if failed then error(v, 0) end
          return v
        end
        -- The result of redis.call where the translated text calls it directly. While a library is loaded there is no redis.call.
        local function checkCall(v, failed)
          if failed then
            if v == nil then v = env.redis.call end
            error(v, 0)
          end
          return v
        end
        function R.pcall(...)
          local v, failed = call(...)
          if failed then
            local failure = ending()
            if failure then error(failure, 0) end
          end
          return v
        end
        local function reply(field, ...)
          local text = ...
          if select('#', ...) ~= 1 or type(text) ~= 'string' then return {err = 'ERR wrong number or type of arguments'} end
          return {[field] = text}
        end
        function R.status_reply(...) return reply('ok', ...) end
        function R.error_reply(...)
          local t = reply('err', ...)
          local text = t.err
          if sub(text, 1, 1) == '-' then text = sub(text, 2) end
          if not find(text, ' ', 1, true) then text = 'ERR ' .. text end
          t.err = text
          return t
        end
        if not raw['redis.register_function'] then -- functions do not have these
          function R.replicate_commands() return true end
          function R.breakpoint() return false end
          function R.debug() end
        end
        for _, name in ipairs({'sha1hex', 'log', 'setresp', 'set_repl', 'acl_check_cmd'}) do R[name] = managedReply(raw['redis.' .. name]) end

        -- What a library sees while it is loaded.
        local L
        if raw['redis.register_function'] then
          local r = setmetatable({register_function = managedReply(raw['redis.register_function'])}, strict)
          for _, name in ipairs({'log', 'LOG_DEBUG', 'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING', 'REDIS_VERSION', 'REDIS_VERSION_NUM'}) do r[name] = R[name] end
          L = setmetatable({redis = protect(r)}, strict)
        end

        local function library(prefix, names)
          local t = {}
          for name in gmatch(names, '%S+') do t[name] = managed(raw[prefix .. '.' .. name]) end
          return t
        end
        local B = library('bit', 'tobit tohex bnot band bor bxor lshift rshift arshift rol ror bswap')
        local J = library('cjson', 'encode decode encode_sparse_array encode_max_depth decode_max_depth encode_number_precision encode_keep_buffer encode_invalid_numbers decode_invalid_numbers decode_array_with_array_mt')
        raw['cjson.array_mark'](protect({__is_cjson_array = true}))
        J.null, J._NAME, J._VERSION = null, 'cjson', '2.1.0'
        local P = library('cmsgpack', 'pack unpack unpack_one unpack_limit')
        P._NAME, P._VERSION = 'cmsgpack', 'lua-cmsgpack 0.4.0'
        P._COPYRIGHT, P._DESCRIPTION = 'Copyright (C) 2012, Salvatore Sanfilippo', 'MessagePack C implementation for Lua'

        G.string, G.table, G.math, G.coroutine, G.redis = protect(S), protect(T), protect(M), protect(C), protect(R)
        G.bit, G.cjson, G.cmsgpack = protect(B), protect(J), protect(P)
        function J.new() return G.cjson end
        G.struct = protect(library('struct', 'pack unpack size'))
        G.os = protect({clock = raw.clock})

        collectgarbage('incremental', 400, 400) -- scripts leave little that lives on: collect when four times as much has been added
        return L, envmeta, env, G, {c, c2, c3, tick, values, select, modulo, checkCall, call, effect, tonumberOfOne, remainder, length, lengthOf, holder}
        """;
}
