namespace RedKite.Scripting;

/// <summary>
/// The part of the environment that is written in Lua 5.4: functions of Lua 5.1 that 5.4 lacks or changed, and the protection of shared tables.
/// This is its core; the functions are compiled where they are first used (<see cref="PreludeParts"/>).
/// </summary>
/// <remarks>
/// Scripts see shared tables through empty ones whose metatables refuse writes, because stock Lua has no read-only tables. The prelude's own globals
/// are in a table that scripts do not see: Lua's basic functions, what the interpreter adds, and each part from its first use on. Locals and
/// globals have the names of the functions that they hold: Lua's messages name them. Lines of these chunks in messages become those of the script.
/// </remarks>
internal static class Prelude
{
    /// <summary>The core. The interpreter has added part, raw, FAILED, null and its own functions to the globals.</summary>
    internal const string Source = """
        local part, FAILED, setmetatable, rawset, error, next = part, FAILED, setmetatable, rawset, error, next
        -- Shared with the parts that use them (PreludeParts.Shared). Another thread raises the flag: every loop whose length a script decides looks
        -- at it, and lets tick end the script. The length is that of the functions of tables.
        local interrupted, rawlen, G = false, rawlen, nil
        local function holder() return interrupted, rawlen, G, _ENV end

        local function found(prefix, name)
          local v, message = part(prefix, name)
          if v == FAILED then error(message, 0) end
          return v, message
        end
        setmetatable(_ENV, {__index = function(t, name)
          local v, isLibrary = found(nil, name)
          if not isLibrary then rawset(t, name, v) end
          return v
        end})

        local prefixes = {} -- table of functions -> what the names of its parts begin with
        libraries = prefixes
        local filling = {__index = function(t, name)
          local v = found(prefixes[t], name)
          if v ~= nil then rawset(t, name, v) end
          return v
        end}
        local function library(prefix)
          local t = setmetatable({}, filling)
          prefixes[t] = prefix
          return t
        end
        _ENV.library = library

        local shown = {} -- read-only table -> what it shows
        shadow = shown
        local function readonly() error('Attempt to modify a readonly table') end
        function protect(t)
          local p = setmetatable({}, {__index = t, __newindex = readonly, __metatable = false})
          shown[p] = t
          return p
        end

        G = setmetatable({}, {__index = function(t, name)
          local v = found('G', name)
          if v == nil then error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'") end
          rawset(t, name, v)
          return v
        end})
        prefixes[G] = 'G'
        envmeta = {__index = G, __newindex = readonly, __metatable = false}
        env = setmetatable({}, envmeta)
        shown[env] = G

        -- Strings. Lua looks for metamethods without metamethods.
        local operators = library('operator')
        local strings = {__index = library('string'), __metatable = false}
        for _, event in next, {'__add', '__sub', '__mul', '__div', '__mod', '__pow', '__unm'} do
          strings[event] = function(a, b)
            local f = operators[event]
            strings[event] = f
            return f(a, b)
          end
        end
        stringmeta = strings

        for _, name in next, {'print', 'warn', 'dofile', 'loadfile', 'load', 'pcall', 'assert', 'ipairs', 'pairs', '_VERSION', '_G', 'part'} do _ENV[name] = nil end
        collectgarbage('incremental', 400, 400) -- scripts leave little that lives on: collect when four times as much has been added
        return envmeta, env, G, _ENV, strings, holder
        """;
}
