namespace RedKite.Scripting;

/// <summary>The parts of <see cref="Prelude"/> on numbers, coroutines, data formats, and the server.</summary>
internal static class PreludeLibraries
{
    internal const string Source = """
        --- math.floor
        local mtype, floor = mtype, math.floor
        return function(x)
          if mtype(x) then return x // 1.0 end
          return floor(x) + 0.0
        end
        --- math.ceil
        local mtype, floor = mtype, math.floor
        return function(x)
          if mtype(x) then return -(-x // 1.0) end
          return -floor(-(arithmetic(x) or bad(1, 'ceil', 'number', x)))
        end
        --- floatsOf
        return function(name, ...)
          local numbers = {...}
          for i = 1, select('#', ...) do
            local v = numbers[i]
            numbers[i] = arithmetic(v) or error('bad argument #' .. i .. " to '" .. name .. "' (number expected, got " .. type(v) .. ')', 3)
          end
          return unpack(numbers)
        end
        --- math.max
        local mtype, max, select = mtype, math.max, select
        return function(...)
          local a, b = ...
          if mtype(a) and mtype(b) and select('#', ...) == 2 then return max(a, b) end
          return max(floatsOf('max', ...))
        end
        --- math.min
        local mtype, min, select = mtype, math.min, select
        return function(...)
          local a, b = ...
          if mtype(a) and mtype(b) and select('#', ...) == 2 then return min(a, b) end
          return min(floatsOf('min', ...))
        end
        --- math.fmod
        local mtype, fmod, tonum, select = mtype, math.fmod, tonum, select
        local function float(v) if mtype(v) then return v * 1.0 end return v end
        return function(...)
          local a, b = ...
          local y = tonum(b) or bad(2, 'fmod', 'number', b, select('#', ...))
          local x = tonum(a) or bad(1, 'fmod', 'number', a)
          return fmod(float(x), float(y))
        end
        --- math.mod
        return G.math.fmod
        --- math.modf
        local arithmetic, modf, select = arithmetic, math.modf, select
        local zero = -0.0
        return function(...)
          local x = ...
          local n = arithmetic(x) or bad(1, 'modf', 'number', x, select('#', ...))
          if n ~= n then return modf(n) end
          local cut = n < 0 and -(-n // 1.0) or n // 1.0
          local rest = n - cut
          if rest == 0 or cut == n then rest = (n < 0 or 1 / n < 0) and zero or 0.0 end
          return n == 0 and n * 1.0 or cut, rest
        end

        --- coroutine.yield
        return coroutine.yield
        --- needFunction
        return function(f, name)
          if type(f) ~= 'function' then error("bad argument #1 to '" .. name .. "' (Lua function expected)") end
        end
        --- needCoroutine
        return function(co, name)
          if type(co) ~= 'thread' then error("bad argument #1 to '" .. name .. "' (coroutine expected)") end
        end
        --- located
        return raw.located -- the message as it is for the coroutine that raised it
        --- coroutine.create
        local needFunction, create = needFunction, coroutine.create
        return function(f) needFunction(f, 'create') return create(f) end
        --- coroutine.status
        local needCoroutine, status = needCoroutine, coroutine.status
        return function(co) needCoroutine(co, 'status') return status(co) end
        --- coroutine.resume
        local needCoroutine, resume, status = needCoroutine, coroutine.resume, coroutine.status
        local function resumed(co, ok, ...)
          if ok then return ok, ... end
          local failure = ending()
          if failure then error(failure, 0) end
          return ok, located(co, (...))
        end
        return function(co, ...)
          needCoroutine(co, 'resume')
          local state = status(co)
          if state == 'running' or state == 'normal' then return false, 'cannot resume ' .. state .. ' coroutine' end
          return resumed(co, resume(co, ...))
        end
        --- coroutine.wrap
        local needFunction, create, resume, values = needFunction, coroutine.create, coroutine.resume, values
        local function wrapped(co, ok, ...)
          if ok then return ... end
          local failure = ending()
          if failure then error(failure, 0) end
          local e = located(co, (...))
          error(e, isText(e) and 3 or 0)
        end
        return function(f)
          needFunction(f, 'wrap')
          local co = create(f)
          return function(...) return values(wrapped(co, resume(co, ...))) end
        end
        --- coroutine.running
        local running = coroutine.running
        return function()
          local thread, main = running()
          if main then return nil end
          return thread
        end

        --- markArrays
        raw['cjson.array_mark'](protect({__is_cjson_array = true}))
        return true
        --- cjson.decode
        return markArrays and managed(raw['cjson.decode'])
        --- cjson.decode_array_with_array_mt
        return markArrays and managed(raw['cjson.decode_array_with_array_mt'])
        --- cjson.null
        return null
        --- cjson._NAME
        return 'cjson'
        --- cjson._VERSION
        return '2.1.0'
        --- cjson.new
        return function() return G.cjson end

        --- cmsgpack._NAME
        return 'cmsgpack'
        --- cmsgpack._VERSION
        return 'lua-cmsgpack 0.4.0'
        --- cmsgpack._COPYRIGHT
        return 'Copyright (C) 2012, Salvatore Sanfilippo'
        --- cmsgpack._DESCRIPTION
        return 'MessagePack C implementation for Lua'

        --- R
        return library('redis')
        --- redis.LOG_DEBUG
        return 0.0
        --- redis.LOG_VERBOSE
        return 1.0
        --- redis.LOG_NOTICE
        return 2.0
        --- redis.LOG_WARNING
        return 3.0
        --- redis.REPL_NONE
        return 0.0
        --- redis.REPL_AOF
        return 1.0
        --- redis.REPL_SLAVE
        return 2.0
        --- redis.REPL_REPLICA
        return 2.0
        --- redis.REPL_ALL
        return 3.0
        --- redis.REDIS_VERSION
        return '8.0.2'
        --- redis.REDIS_VERSION_NUM
        return 524290.0
        --- redis.call
        local call = call
        return function(...)
          local v, failed = call(...)
          if failed then error(v, 0) end
          return v
        end
        --- redis.pcall
        local call = call
        return function(...)
          local v, failed = call(...)
          if failed then
            local failure = ending()
            if failure then error(failure, 0) end
          end
          return v
        end
        --- reply
        return function(field, ...)
          local text = ...
          if select('#', ...) ~= 1 or type(text) ~= 'string' then return {err = 'ERR wrong number or type of arguments'} end
          return {[field] = text}
        end
        --- redis.status_reply
        local reply = reply
        return function(...) return reply('ok', ...) end
        --- redis.error_reply
        local reply, sub, find = reply, string.sub, string.find
        return function(...)
          local t = reply('err', ...)
          local text = t.err
          if sub(text, 1, 1) == '-' then text = sub(text, 2) end
          if not find(text, ' ', 1, true) then text = 'ERR ' .. text end
          t.err = text
          return t
        end
        --- redis.replicate_commands
        if hasFunctions then return nil end
        return function() return true end
        --- redis.breakpoint
        if hasFunctions then return nil end
        return function() return false end
        --- redis.debug
        if hasFunctions then return nil end
        return function() end

        --- loading
        -- What a library sees while it is loaded.
        local strict = {__index = function(_, name)
          error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'")
        end}
        local r = {register_function = managedReply(raw['redis.register_function'])}
        for _, name in next, {'log', 'LOG_DEBUG', 'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING', 'REDIS_VERSION', 'REDIS_VERSION_NUM'} do r[name] = R[name] end
        return setmetatable({redis = protect(setmetatable(r, strict))}, strict)
        """;
}
