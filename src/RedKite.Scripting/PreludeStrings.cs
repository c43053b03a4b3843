namespace RedKite.Scripting;

/// <summary>
/// The part of <see cref="Prelude"/> on strings and their patterns, where Lua 5.1 and 5.4 differ: zero bytes in patterns, empty
/// matches, positions that are not integers, escapes in replacements.
/// </summary>
internal static class PreludeStrings
{
    internal const string Source = """
        -- Strings.
        local S = {}
        function S.len(s) return len(str(s)) end
        function S.lower(s) return lower(str(s)) end
        function S.upper(s) return upper(str(s)) end
        function S.reverse(s) return reverse(str(s)) end
        function S.byte(s, i, j) return byte(str(s), int(i), int(j)) end
        function S.char(...)
          local n = select('#', ...)
          if n == 1 then return char(int32((...))) end
          local codes = {...}
          for i = 1, n do codes[i] = int32(codes[i]) end
          return char(unpack(codes, 1, n))
        end
        function S.sub(s, i, j)
          if i == nil then
            if not isText(s) then bad(1, 'sub', 'string', s) end
            bad(2, 'sub', 'number', i)
          end
          return sub(str(s), int(i), int(j))
        end
        function S.rep(s, n) return rep(str(s), int(n)) end
        function S.dump() error('unable to dump given function') end
        local format = raw['string.format']
        function S.format(...) -- without a tail call, so that messages know a method
          local s, message = format(...)
          if s == FAILED then error(message) end
          return s
        end

        -- Patterns end at a zero byte. What a pattern needs is kept, as scripts use few of them: whole[p] is its text before a zero byte,
        -- empties[p] whether it may match nothing and so needs a loop of its own below.
        local whole, empties, patterns = {}, {}, 0
        local function canMatchNothing(p)
          if byte(p) == 94 then return false end
          p = gsub(gsub(p, '%%[^%w]', 'a'), '%[%^?[^%]]+%]', 'a')
          return find(p, '[*?%-]') ~= nil or gsub(gsub(gsub(p, '%%fa', ''), '%%%d', ''), '[()$]', '') == ''
        end
        local function plainly(c) if c == 'g' or c == 'G' then return c end end -- classes of Lua 5.4
        local function pattern(p)
          p = str(p)
          if whole[p] or type(p) ~= 'string' then return whole[p] or p end
          local zero = find(p, '\0', 1, true)
          local text = zero and sub(p, 1, zero - 1) or p
          if find(text, '%%[gG]') then text = gsub(text, '%%(.)', plainly) end
          if patterns == 256 then whole, empties, patterns = {}, {}, 0 end
          if len(p) <= 64 then
            whole[p], patterns = text, patterns + 1
            empties[text] = canMatchNothing(text)
          end
          return text
        end
        local function mayBeEmpty(p)
          if len(p) > 64 then return canMatchNothing(p) end
          return empties[p]
        end
        local function start(s, init)
          init = int(init)
          if mtype(init) and init > 0 and type(s) == 'string' and init > len(s) + 1 then return len(s) + 1 end
          return init
        end
        function S.find(s, p, init, plain)
          s = str(s)
          if init ~= nil then init = start(s, init) end
          local text = pattern(p)
          if text ~= p and type(p) == 'string' and (plain or (find(p, '\0', 1, true) and not find(text, '[%^%$%*%+%?%.%(%[%%%-]'))) then plain, text = true, p end
          return find(s, text, init, plain)
        end
        function S.match(s, p, init)
          s = str(s)
          if init ~= nil then init = start(s, init) end
          return match(s, pattern(p), init)
        end

        -- Lua 5.1 finds the empty match right behind another one, which Lua 5.4 skips.
        local function whatMatched(s, i, j, ...)
          if select('#', ...) == 0 then return sub(s, i, j) end
          return ...
        end
        local function eachMatch(s, p)
          local at = 1
          if byte(p) == 94 then p = '%' .. p end
          local function behind(i, j, ...)
            if i == nil then
              at = len(s) + 2
              return nil
            end
            at = j >= i and j + 1 or i + 1
            return whatMatched(s, i, j, ...)
          end
          return function()
            if at > len(s) + 1 then return nil end
            return behind(find(s, p, at))
          end
        end
        function S.gmatch(s, p)
          s, p = str(s), pattern(p)
          if type(s) == 'string' and type(p) == 'string' and mayBeEmpty(p) then return eachMatch(s, p) end
          return gmatch(s, p)
        end
        S.gfind = S.gmatch
        local function replacement(r, s, i, j, ...)
          local matched = sub(s, i, j)
          if type(r) == 'string' then
            if not find(r, '%', 1, true) then return r end
            local captures, n = {...}, select('#', ...)
            if n == 0 then captures, n = {matched}, 1 end
            return (gsub(r, '%%(.)', function(c)
              local digit = byte(c) - 48
              if digit == 0 then return matched end
              if digit < 0 or digit > 9 then return c end
              if digit > n then error('invalid capture index') end
              return str(captures[digit])
            end))
          end
          local v
          if type(r) == 'table' then v = r[(whatMatched(s, i, j, ...))] else v = r(whatMatched(s, i, j, ...)) end
          if not v then return matched end
          v = str(v)
          if type(v) ~= 'string' then error('invalid replacement value (a ' .. type(v) .. ')') end
          return v
        end
        local function replaceEach(s, p, r, max)
          local parts, n, count, at = {}, 0, 0, 1
          local function one(i, j, ...)
            if i == nil then return false end
            count = count + 1
            n = n + 1
            parts[n] = sub(s, at, i - 1)
            n = n + 1
            parts[n] = replacement(r, s, i, j, ...)
            at = j + 1
            if j < i then
              n = n + 1
              parts[n] = sub(s, i, i)
              at = i + 1
            end
            return at <= len(s) + 1
          end
          while count < max and one(find(s, p, at)) do end
          parts[n + 1] = sub(s, at)
          return raw.tableconcat(parts), count
        end
        -- %x is x where x is no digit, and a % at the end is a zero byte.
        local function plainEscapes(r)
          return (gsub(r, '%%(.?)', function(c)
            if c == '' then return '\0' end
            if c == '%' or (byte(c) >= 48 and byte(c) <= 57) then return '%' .. c end
            return c
          end))
        end
        function S.gsub(s, p, r, n)
          s, p, r = str(s), pattern(p), str(r)
          if n ~= nil then n = int32(n) end
          local kind = type(r)
          if kind ~= 'string' and kind ~= 'table' and kind ~= 'function' then
            if type(s) ~= 'string' then bad(1, 'gsub', 'string', s) end
            if type(p) ~= 'string' then bad(2, 'gsub', 'string', p) end
            error("bad argument #3 to 'gsub' (string/function/table expected)")
          end
          if kind == 'string' and find(r, '%', 1, true) then r = plainEscapes(r) end
          if type(s) == 'string' and type(p) == 'string' and mayBeEmpty(p) then
            return replaceEach(s, p, r, n or len(s) + 1)
          end
          if kind == 'function' then
            local f = r
            r = function(...) return (str((f(...)))) end
          elseif kind == 'table' then
            local t = r
            r = function(k) return (str(t[k])) end
          end
          if n == nil then return gsub(s, p, r) end
          return gsub(s, p, r, n)
        end
        """;
}
