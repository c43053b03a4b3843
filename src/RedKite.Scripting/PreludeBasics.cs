namespace RedKite.Scripting;

/// <summary>
/// The parts of <see cref="Prelude"/> that others use, those that translated scripts call, and the basic functions.
/// </summary>
internal static class PreludeBasics
{
    internal const string Source = """
        --- tick
        local tick = raw.tick
        return function()
          local failure = tick()
          if failure then error(failure, 0) end
        end

        --- mtype
        return math.type
        --- tonum
        return raw.tonumber
        --- numtext
        return raw.numtext
        --- ending
        return raw.ending
        --- handler
        return raw.handler
        --- unpack
        return table.unpack

        --- check
        -- Errors of managed functions.
        local FAILED = FAILED
        return function(...)
          local first, message, hasNoPosition = ...
          if first == FAILED then
            if hasNoPosition then error(message, 0) end
            error(message)
          end
          return ...
        end
        --- managed
        local check = check
        return function(f) return function(...) return check(f(...)) end end
        --- values
        return function(...) return ... end
        --- managedReply
        local FAILED = FAILED
        local function checkReply(...)
          local first, message = ...
          if first == FAILED then error({err = 'ERR ' .. message}, 0) end
          return ...
        end
        return function(f) return function(...) return checkReply(f(...)) end end

        --- isText
        local type = type
        return function(v) local t = type(v) return t == 'string' or t == 'number' end
        --- bad
        -- Errors of arguments, in Lua 5.1's words. The count of arguments tells nil from a missing one.
        return function(i, name, expected, v, count)
          error('bad argument #' .. i .. " to '" .. name .. "' (" .. expected .. ' expected, got ' .. (count and count < i and 'no value' or type(v)) .. ')')
        end
        --- needTable
        local type = type
        return function(name, ...)
          local t = ...
          if type(t) ~= 'table' then bad(1, name, 'table', t, select('#', ...)) end
        end
        --- needValues
        return function(count, name, given)
          if given < count then error('bad argument #' .. given + 1 .. " to '" .. name .. "' (value expected)") end
        end

        --- str
        -- Numbers as text and as integers.
        local mtype, numtext = mtype, numtext
        return function(v) if mtype(v) then return numtext(v) end return v end
        --- int
        -- What C's cast makes of a number: cut, or the smallest integer where it does not fit.
        local mtype = mtype
        local tointeger, mininteger = math.tointeger, math.mininteger
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
        return int
        --- int32
        local mtype, int = mtype, int
        local tointeger = math.tointeger
        return function(v)
          v = int(v)
          if mtype(v) and (v < -0x80000000 or v > 0x7fffffff) then return ((tointeger(v) + 0x80000000) & 0xffffffff) - 0x80000000 end
          return v
        end

        --- shown
        -- What a read-only table shows, with all its functions. Their order does not depend on which of them were used before.
        local whole = {}
        return function(p)
          local t = shadow[p]
          local prefix = libraries[t]
          if not prefix or whole[t] then return t end
          local all = {}
          for name in string.gmatch(raw.names(prefix), '%S+') do
            local v = rawget(t, name)
            if v == nil then
              v = part(prefix, name)
              if v ~= nil then rawset(t, name, v) end
            end
            all[name] = v
          end
          for k, v in next, t do
            if all[k] == nil then all[k] = v end
          end
          setmetatable(all, getmetatable(t))
          libraries[all] = prefix
          whole[all] = true
          raw.show(p, all)
          shadow[p] = all
          if t == G then G = all end
          if t == stringmeta.__index then stringmeta.__index = all end
          return all
        end
        --- part
        -- nil if there is none of that name.
        local find = raw.part
        return function(prefix, name)
          local v, message = find(prefix, name)
          if v == FAILED then error(message, 0) end
          return v
        end
        --- member
        -- What a table shows as an element of its own.
        return function(t, k)
          local s = shadow[t]
          local v = rawget(s, k)
          if v == nil and libraries[s] then
            v = part(libraries[s], k)
            if v ~= nil then rawset(s, k, v) end
          end
          return v
        end

        --- arithmetic
        -- Arithmetic on strings.
        local type, tonum = type, tonum
        return function(v) return (type(v) == 'string' or type(v) == 'number') and tonum(v) end
        --- operand
        local tonum = tonum
        return function(a, b)
          local x, y = tonum(a), tonum(b)
          if x == nil or (type(a) ~= 'string' and type(a) ~= 'number') then error('attempt to perform arithmetic on \1a ' .. type(a) .. ' value') end
          if y == nil or (type(b) ~= 'string' and type(b) ~= 'number') then error('attempt to perform arithmetic on \2a ' .. type(b) .. ' value') end
          return x, y
        end
        --- operator.__add
        local operand = operand
        return function(a, b) a, b = operand(a, b) return a + b end
        --- operator.__sub
        local operand = operand
        return function(a, b) a, b = operand(a, b) return a - b end
        --- operator.__mul
        local operand = operand
        return function(a, b) a, b = operand(a, b) return a * b end
        --- operator.__div
        local operand = operand
        return function(a, b) a, b = operand(a, b) return a / b end
        --- operator.__mod
        local operand = operand
        return function(a, b) a, b = operand(a, b) return a - (a / b) // 1 * b end
        --- operator.__pow
        local operand = operand
        return function(a, b) a, b = operand(a, b) return a ^ b end
        --- operator.__unm
        local operand = operand
        return function(a) a = operand(a, 0) return -a end

        --- joined
        -- Concatenation beyond strings and numbers: the translated text calls these.
        local gmatch = string.gmatch
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
        return function(s, m, names, ...)
          if s == FAILED then error(m, 0) end
          if s == nil then return (concatenateSlowly(names, ...)) end
          return s
        end
        --- c2
        local concatenate, FAILED = concatenate, FAILED
        return function(names, a, b)
          local s, m = concatenate(a, b)
          if s == nil or s == FAILED then return (joined(s, m, names, a, b)) end
          return s
        end
        --- c3
        local concatenate, FAILED = concatenate, FAILED
        return function(names, a, b, c)
          local s, m = concatenate(a, b, c)
          if s == nil or s == FAILED then return (joined(s, m, names, a, b, c)) end
          return s
        end
        --- c
        local concatenate, FAILED = concatenate, FAILED
        return function(names, ...)
          local s, m = concatenate(...)
          if s == nil or s == FAILED then return (joined(s, m, names, ...)) end
          return s
        end
        --- modulo
        -- a % b is a - floor(a / b) * b in Lua 5.1, whose result differs for fractions, large numbers and infinities.
        local mtype = mtype
        local match = string.match
        return function(names, a, b)
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
        --- remainder
        -- a % b where many of them follow each other: written as a // remainder // b, because calls would be nested too deeply.
        local modulo = modulo
        local remainder
        local pending = {__metatable = false} -- the metatable of {a}
        function pending.__idiv(a, b)
          if rawequal(b, remainder) then return setmetatable({a}, pending) end
          return (modulo('|', rawget(a, 1), b))
        end
        remainder = setmetatable({}, pending)
        return remainder
        --- lengthOf
        -- Lengths, where a script may make tables with holes. The first such script makes the functions of tables see what it sees.
        local length, len, type = length, string.len, type
        return function(names, v)
          if names == nil then rawlen = length return end
          local kind = type(v)
          if kind == 'table' then return (length(v)) end
          if kind == 'string' then return len(v) end
          if names == '' then error('attempt to get length of a ' .. kind .. ' value') end
          error('attempt to get length of ' .. names .. ' (a ' .. kind .. ' value)')
        end
        --- tonumberOfOne
        -- Lua reads short texts as Lua 5.1 does, but not -0, inf and nan; of longer integers it keeps more digits.
        local envmeta, type, tonum, number, len = envmeta, type, tonum, tonumber, string.len
        return function(v)
          if envmeta.__index ~= G then return env.tonumber(v) end -- a library is loaded: it has none
          if type(v) == 'string' and len(v) < 16 then
            local n = number(v)
            if n and n ~= 0 then return n + 0.0 end
          end
          return (tonum(v))
        end
        --- checkCall
        -- The result of redis.call where the translated text calls it directly. While a library is loaded there is no redis.call.
        return function(v, failed)
          if failed then
            if v == nil then v = env.redis.call end
            error(v, 0)
          end
          return v
        end

        --- G._G
        return env
        --- G._VERSION
        return 'Lua 5.1'
        --- G.type
        return type
        --- G.rawequal
        return rawequal
        --- G.select
        local mtype, select = mtype, select
        return function(n, ...)
          if n ~= '#' and mtype(n) ~= 'integer' then n = int32(n) end
          return select(n, ...)
        end
        --- G.error
        return function(message, level)
          if mtype(message) then message = numtext(message) end
          level = level == nil and 1 or int(level)
          if not mtype(level) then bad(2, 'error', 'number', level) end
          error(message, level == 0 and 0 or level + 1)
        end
        --- G.assert
        return function(...)
          local v, message = ...
          if v then return ... end
          if select('#', ...) == 0 then error("bad argument #1 to 'assert' (value expected)") end
          if message == nil then message = 'assertion failed!' end
          if not isText(message) then error("bad argument #2 to 'assert' (string expected, got " .. type(message) .. ')') end
          error(str(message))
        end
        --- G.pcall
        -- An error table becomes its text, and an error that ends the script goes on.
        local select, xpcall, handler, ending = select, xpcall, handler, ending
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
        return function(...)
          if select('#', ...) == 0 then return false, 'attempt to call a boolean value' end -- what Redis's own pcall makes of it
          return (function(f, ...) return caught(xpcall(f, handler, ...)) end)(...)
        end
        --- G.xpcall
        local xpcall, handler, ending = xpcall, handler, ending
        return function(...)
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
        --- G.tostring
        local mtype, numtext, getmetatable, type, tostring = mtype, numtext, getmetatable, type, tostring
        return function(...)
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
        --- G.tonumber
        local tonumberOfOne = tonumberOfOne
        return function(...)
          local v, base = ...
          if base == nil then
            if v == nil then needValues(1, 'tonumber', select('#', ...)) end
            return tonumberOfOne(v)
          end
          return (check(tonumberbase(v, base)))
        end
        --- tonumberbase
        return raw.tonumberbase
        --- realNext
        local next, shadow = next, shadow
        return function(t, k)
          return next(shadow[t] or t, k)
        end
        --- G.next
        local needTable, mtype, shadow, realNext = needTable, mtype, shadow, realNext
        local tointeger = math.tointeger
        return function(...)
          local t, k = ...
          needTable('next', ...)
          if mtype(k) == 'float' then k = tointeger(k) or k end -- Lua 5.4 finds a whole number among a table's keys only as an integer
          if shadow[t] then shown(t) end
          return realNext(t, k)
        end
        --- G.pairs
        local needTable, shadow, next = needTable, shadow, next
        return function(...)
          local t = ...
          needTable('pairs', ...)
          if shadow[t] then
            shown(t)
            return realNext, t, nil
          end
          return next, t, nil
        end
        --- G.ipairs
        local needTable, rawget, shadow = needTable, rawget, shadow
        local function step(t, i)
          i = i + 1
          local v = rawget(t, i)
          if v ~= nil then return i, v end
        end
        return function(...)
          local t = ...
          needTable('ipairs', ...)
          return step, shadow[t] or t, 0
        end
        --- G.rawget
        local needTable, rawget, shadow = needTable, rawget, shadow
        return function(...)
          local t, k = ...
          needTable('rawget', ...)
          if k == nil then needValues(2, 'rawget', select('#', ...)) end
          if shadow[t] then return (member(t, k)) end
          return (rawget(t, k))
        end
        --- G.rawset
        local needTable, rawset, shadow = needTable, rawset, shadow
        return function(...)
          local t, k, v = ...
          needTable('rawset', ...)
          if v == nil then needValues(3, 'rawset', select('#', ...)) end
          if shadow[t] then error('Attempt to modify a readonly table', 0) end
          return rawset(t, k, v)
        end
        --- G.getmetatable
        local type, getmetatable, env = type, getmetatable, env
        local none = protect({})
        local shownStringmeta = protect({__index = protect(stringmeta.__index)})
        return function(...)
          local v = ...
          if v == nil then needValues(1, 'getmetatable', select('#', ...)) end
          if type(v) == 'string' then return shownStringmeta end
          if v == env then return none end
          local m = getmetatable(v)
          if m == false then return nil end
          return m
        end
        --- G.setmetatable
        local needTable, type, shadow, setmetatable, rawget = needTable, type, shadow, setmetatable, rawget
        return function(...)
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
        --- G.unpack
        local needTable, shadow, int32, mtype, unpack = needTable, shadow, int32, mtype, unpack
        return function(...)
          local t, i, j = ...
          needTable('unpack', ...)
          t = shadow[t] or t
          local results = 8000 - (j ~= nil and 3 or i ~= nil and 2 or 1) -- as many as Lua 5.1's stack of C functions takes
          i = int32(i) or 1
          j = j == nil and rawlen(t) or int32(j)
          if mtype(i) and mtype(j) and j - i >= results then error('too many results to unpack') end
          return unpack(t, i, j)
        end
        --- compile
        return raw.load
        --- G.loadstring
        return function(...)
          local s, name = ...
          if not isText(s) then bad(1, 'loadstring', 'string', s, select('#', ...)) end
          if name ~= nil and not isText(name) then bad(2, 'loadstring', 'string', name) end
          local f, message = compile(str(s), name == nil and s or str(name))
          if f == FAILED then error(message) end
          return f, message
        end
        --- G.load
        -- An error of the function that reads is a result.
        local tableconcat, handler = raw.tableconcat, handler
        local function partRead(ok, ...)
          if ok then return ok, ... end
          local failure = ending()
          if failure then error(failure, 0) end
          return ok, ...
        end
        return function(...)
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
          local g, message = compile(tableconcat(parts), name == nil and '=(load)' or str(name))
          if g == FAILED then return nil, message end
          return g, message
        end
        --- G.collectgarbage
        return function(what, n)
          if what ~= nil and not isText(what) then bad(1, 'collectgarbage', 'string', what) end
          if what == 'count' then return (collectgarbage('count')) end
          if what == nil or what == 'collect' then collectgarbage('collect') return 0.0 end
          if what == 'step' then return (collectgarbage('step')) end
          if what ~= 'stop' and what ~= 'restart' and what ~= 'setpause' and what ~= 'setstepmul' then
            error("bad argument #1 to 'collectgarbage' (invalid option '" .. str(what) .. "')")
          end
          return 0.0
        end
        --- G.gcinfo
        return function() return collectgarbage('count') // 1 end

        --- G.string
        return protect(stringmeta.__index)
        --- G.table
        return protect(library('table'))
        --- G.math
        return protect(library('math'))
        --- G.coroutine
        return protect(library('coroutine'))
        --- G.bit
        return protect(library('bit'))
        --- G.cjson
        return protect(library('cjson'))
        --- G.cmsgpack
        return protect(library('cmsgpack'))
        --- G.struct
        return protect(library('struct'))
        --- G.os
        return protect({clock = raw.clock})
        --- G.redis
        return protect(R)
        """;
}
