namespace RedKite.Scripting;

/// <summary>The parts of <see cref="Prelude"/> on tables. As in Lua 5.1, these functions use no metamethods.</summary>
internal static class PreludeTables
{
    internal const string Source = """
        --- table.concat
        return managed(raw.tableconcat)
        --- writable
        -- As in Lua 5.1 they use no metamethods. A table without a metatable needs no raw functions for that.
        return function(t)
          if shadow[t] then error('Attempt to modify a readonly table', 0) end
          return t
        end
        --- table.insert
        local select, needTable, shadow, getmetatable, rawset = select, needTable, shadow, getmetatable, rawset
        local function put(t, i, v) if getmetatable(t) == nil then t[i] = v else rawset(t, i, v) end end
        local function shiftUp(t, last, at)
          local isPlain = getmetatable(t) == nil
          for i = last, at + 1, -1 do
            if interrupted then tick() end
            if isPlain then t[i] = t[i - 1] else rawset(t, i, rawget(t, i - 1)) end
          end
        end
        return function(...)
          local t, a, b = ...
          local n = select('#', ...)
          needTable('insert', ...)
          local last = rawlen(t) + 1
          if shadow[t] then writable(t) end
          if n == 2 then put(t, last, a) return end
          if n ~= 3 then error("wrong number of arguments to 'insert'") end
          local at = int32(tonum(a))
          if at == nil then bad(2, 'insert', 'number', a) end
          if at > last then last = at end
          shiftUp(t, last, at)
          put(t, at, b)
        end
        --- table.remove
        local needTable, shadow, getmetatable, rawget, rawset = needTable, shadow, getmetatable, rawget, rawset
        return function(...)
          local t, a = ...
          needTable('remove', ...)
          local last = rawlen(t)
          local at = a == nil and last or int32(tonum(a))
          if at == nil then bad(2, 'remove', 'number', a) end
          if not (at >= 1 and at <= last) then return end
          if shadow[t] then writable(t) end
          local isPlain = getmetatable(t) == nil
          local v = rawget(t, at)
          for i = at, last - 1 do
            if interrupted then tick() end
            if isPlain then t[i] = t[i + 1] else rawset(t, i, rawget(t, i + 1)) end
          end
          rawset(t, last, nil)
          return v
        end
        --- sortBy
        -- With a function, the order in which it is called and the result for equal elements are those of Lua 5.1: a quicksort whose pivot
        -- is the median of the first, middle and last element.
        local function sortBy(t, first, last, less)
          while first < last do
            if interrupted then tick() end
            local low, high = t[first], t[last]
            if less(high, low) then
              t[first], t[last] = high, low
            end
            if last - first == 1 then return end
            local middle = (first + last) // 2
            local pivot = t[middle]
            low = t[first]
            if less(pivot, low) then
              t[middle], t[first] = low, pivot
            else
              high = t[last]
              if less(high, pivot) then t[middle], t[last] = high, pivot end
            end
            if last - first == 2 then return end
            pivot = t[middle]
            t[middle], t[last - 1] = t[last - 1], pivot
            local i, j = first, last - 1
            while true do
              i = i + 1
              local a = t[i]
              while less(a, pivot) do
                if interrupted then tick() end
                if i > last then error('invalid order function for sorting') end
                i = i + 1
                a = t[i]
              end
              j = j - 1
              local b = t[j]
              while less(pivot, b) do
                if interrupted then tick() end
                if j < first then error('invalid order function for sorting') end
                j = j - 1
                b = t[j]
              end
              if j < i then break end
              t[i], t[j] = b, a
            end
            t[last - 1], t[i] = t[i], t[last - 1]
            -- The smaller part by recursion, the larger one by the loop.
            if i - first < last - i then
              sortBy(t, first, i - 1, less)
              first = i + 1
            else
              sortBy(t, i + 1, last, less)
              last = i - 1
            end
          end
        end
        return sortBy
        --- isSoonSorted
        -- Whether Lua's own function sorts it in moments: nothing could end the script meanwhile. The same text may be there any number of times,
        -- and each comparison reads it to its end.
        local type, len = type, string.len
        return function(t, n)
          if n > 1000000 then return false end
          local longest = 8
          for i = 1, n do
            local v = t[i]
            if type(v) == 'string' and len(v) > longest then
              longest = len(v)
              if longest * n > 16777216 then return false end
            end
          end
          return true
        end
        --- table.sort
        local needTable, type, getmetatable, sort = needTable, type, getmetatable, table.sort
        local function isLess(a, b) return a < b end
        local function sortPlain(t, n, f)
          if f == nil and isSoonSorted(t, n) then return sort(t) end
          sortBy(t, 1, n, f or isLess)
        end
        return function(...)
          local t, f = ...
          needTable('sort', ...)
          if f ~= nil and type(f) ~= 'function' then bad(2, 'sort', 'function', f) end
          local n = rawlen(t)
          if n < 2 then return end
          if getmetatable(t) == nil then return sortPlain(t, n, f) end
          writable(t)
          local copy = {}
          for i = 1, n do
            if interrupted then tick() end
            copy[i] = rawget(t, i)
          end
          sortPlain(copy, n, f)
          for i = 1, n do
            if interrupted then tick() end
            rawset(t, i, copy[i])
          end
        end
        --- table.getn
        return function(...) needTable('getn', ...) return rawlen((...)) end
        --- table.setn
        return function(...) needTable('setn', ...) error("'setn' is obsolete") end
        --- table.maxn
        local next, mtype = next, mtype
        return function(...)
          local t = ...
          needTable('maxn', ...)
          local max = 0.0
          for k in next, t do
            if interrupted then tick() end
            if mtype(k) and k > max then max = k end
          end
          return max
        end
        --- needTableAndFunction
        return function(name, ...)
          needTable(name, ...)
          local _, f = ...
          if type(f) ~= 'function' then bad(2, name, 'function', f, select('#', ...)) end
          return ...
        end
        --- table.foreach
        local next = next
        return function(...)
          local t, f = needTableAndFunction('foreach', ...)
          for k, v in next, t do
            if interrupted then tick() end
            local r = f(k, v)
            if r ~= nil then return r end
          end
        end
        --- table.foreachi
        local rawget = rawget
        return function(...)
          local t, f = needTableAndFunction('foreachi', ...)
          for i = 1, rawlen(t) do
            if interrupted then tick() end
            local r = f(i, rawget(t, i))
            if r ~= nil then return r end
          end
        end
        """;
}
