namespace RedKite.Scripting;

/// <summary>The parts of <see cref="Prelude"/> on strings and their patterns.</summary>
internal static class PreludeStrings
{
    internal const string Source = """
        --- string.len
        local len, str = string.len, str
        return function(s) return len(str(s)) end
        --- string.lower
        local lower, str = string.lower, str
        return function(s) return lower(str(s)) end
        --- string.upper
        local upper, str = string.upper, str
        return function(s) return upper(str(s)) end
        --- string.reverse
        local reverse, str = string.reverse, str
        return function(s) return reverse(str(s)) end
        --- string.byte
        local byte, str, int = string.byte, str, int
        return function(s, i, j) return byte(str(s), int(i), int(j)) end
        --- string.char
        local char, select, int32, unpack = string.char, select, int32, unpack
        return function(...)
          local n = select('#', ...)
          if n == 1 then return char(int32((...))) end
          local codes = {...}
          for i = 1, n do codes[i] = int32(codes[i]) end
          return char(unpack(codes, 1, n))
        end
        --- string.sub
        local sub, str, int = string.sub, str, int
        return function(s, i, j)
          if i == nil then
            if not isText(s) then bad(1, 'sub', 'string', s) end
            bad(2, 'sub', 'number', i)
          end
          return sub(str(s), int(i), int(j))
        end
        --- string.rep
        local rep, str, int = string.rep, str, int
        return function(s, n)
          s, n = str(s), int(n)
          return s == '' and s or rep(s, n) -- the interpreter would count to n, and nothing could end it
        end
        --- string.dump
        return function() error('unable to dump given function') end
        --- string.format
        local FAILED, format = FAILED, raw['string.format']
        return function(...) -- without a tail call, so that messages know a method
          local s, message = format(...)
          if s == FAILED then error(message) end
          return s
        end

        --- pattern
        -- Patterns are managed, because they must be interruptible. A function that a script passes is called here.
        local values, check = values, check
        return function(f) return function(...) return values(check(f(...))) end end -- without a tail call, so that messages know a method
        --- string.find
        return pattern(raw['string.find'])
        --- string.match
        return pattern(raw['string.match'])
        --- nextmatch
        return raw['string.nextmatch']
        --- needTexts
        local isText, str = isText, str
        return function(name, ...)
          local s, p = ...
          if not isText(s) then bad(1, name, 'string', s, select('#', ...)) end
          if not isText(p) then bad(2, name, 'string', p, select('#', ...)) end
          return str(s), str(p)
        end
        --- string.gmatch
        local needTexts, check, nextmatch = needTexts, check, nextmatch
        return function(...)
          local s, p = needTexts('gmatch', ...)
          local at = 0
          local function results(i, j, ...)
            if i == nil then return nil end
            at = j > i and j or j + 1
            return ...
          end
          return function() return results(check(nextmatch(s, p, at))) end
        end
        --- string.gfind
        return stringmeta.__index.gmatch
        --- replaceEach
        local len, sub, byte, nextmatch, check, str, type = string.len, string.sub, string.byte, nextmatch, check, str, type
        local tableconcat = raw.tableconcat
        local function replacement(r, matched, ...)
          local v
          if type(r) == 'table' then v = r[(...)] else v = r(...) end
          if not v then return matched end
          v = str(v)
          if type(v) ~= 'string' then error('invalid replacement value (a ' .. type(v) .. ')') end
          return v
        end
        return function(s, p, r, max)
          local parts, n, count, copied, at = {}, 0, 0, 0, 0
          local isAnchored = byte(p) == 94
          local function one(i, j, ...)
            if i == nil then return false end
            count = count + 1
            n = n + 1
            parts[n] = sub(s, copied + 1, i)
            n = n + 1
            parts[n] = replacement(r, sub(s, i + 1, j), ...)
            copied = j
            at = j > i and j or j + 1
            return not isAnchored and at <= len(s)
          end
          while count < max and one(check(nextmatch(s, p, at, isAnchored))) do
            if interrupted then tick() end
          end
          n = n + 1
          parts[n] = sub(s, copied + 1)
          return check(tableconcat(parts)), count
        end
        --- string.gsub
        local values, check, type, replace = values, check, type, raw['string.gsub']
        local len = string.len
        return function(...)
          local s, p, r, max = ...
          local kind = type(r)
          if kind == 'string' or kind == 'number' then return values(check(replace(...))) end
          s, p = needTexts('gsub', ...)
          max = max == nil and len(s) + 1 or int32(tonum(max))
          if max == nil then bad(4, 'gsub', 'number', select(4, ...)) end
          if kind ~= 'table' and kind ~= 'function' then error("bad argument #3 to 'gsub' (string/function/table expected)") end
          return replaceEach(s, p, r, max)
        end
        """;
}
