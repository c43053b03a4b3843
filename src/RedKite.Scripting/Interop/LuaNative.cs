using System.Runtime.InteropServices;

namespace RedKite.Scripting.Interop;

/// <summary>
/// Imports from the native Lua 5.4 of the package KeraLua. Those without a transition of the garbage collector never allocate, never
/// raise an error and never call back; no method that native code calls may contain one (see <see cref="Lua"/>).
/// </summary>
internal static unsafe partial class LuaNative
{
    internal const string Library = "lua54";
    internal const int RegistryIndex = -1_001_000;

    [LibraryImport(Library)]
    internal static partial nint lua_newstate(delegate* unmanaged[Cdecl]<nint, nint, nuint, nuint, nint> allocate, nint data);

    [LibraryImport(Library)]
    internal static partial void lua_setallocf(nint state, delegate* unmanaged[Cdecl]<nint, nint, nuint, nuint, nint> allocate, nint data);

    [LibraryImport(Library)]
    internal static partial void lua_close(nint state);

    [LibraryImport(Library)]
    internal static partial int luaL_loadbufferx(nint state, byte* text, nuint size, byte* name, byte* mode);

    [LibraryImport(Library)]
    internal static partial int lua_pcallk(nint state, int arguments, int results, int handler, nint context, nint continuation);

    [LibraryImport(Library)]
    internal static partial nint lua_newthread(nint state);

    [LibraryImport(Library)]
    internal static partial void lua_xmove(nint from, nint to, int count);

    [LibraryImport(Library)]
    internal static partial void lua_pushcclosure(nint state, delegate* unmanaged[Cdecl]<nint, int> function, int upvalues);

    [LibraryImport(Library)]
    internal static partial nint lua_pushlstring(nint state, byte* text, nuint size);

    [LibraryImport(Library)]
    internal static partial void lua_createtable(nint state, int elements, int fields);

    [LibraryImport(Library)]
    internal static partial void lua_rawset(nint state, int index);

    [LibraryImport(Library)]
    internal static partial void lua_rawseti(nint state, int index, long position);

    [LibraryImport(Library)]
    internal static partial int lua_checkstack(nint state, int slots);

    [LibraryImport(Library)]
    internal static partial int lua_gc(nint state, int what, int argument, int second);

    [LibraryImport(Library)]
    internal static partial int lua_getinfo(nint state, byte* what, byte* record);

    [LibraryImport(Library)]
    internal static partial int lua_getstack(nint state, int level, byte* record);

    [LibraryImport(Library)]
    internal static partial void lua_upvaluejoin(nint state, int function, int upvalue, int other, int otherUpvalue);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial nint lua_upvalueid(nint state, int function, int upvalue);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial byte* lua_getupvalue(nint state, int function, int upvalue);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_rawget(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_rawgeti(nint state, int index, long position);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_getmetatable(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_setmetatable(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_next(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_gettop(nint state);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_settop(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_pushvalue(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_rotate(nint state, int index, int count);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_type(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial double lua_tonumberx(nint state, int index, int* isNumber);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial long lua_tointegerx(nint state, int index, int* isNumber);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial int lua_toboolean(nint state, int index);

    // Only of strings: a number would be converted in place, which allocates.
    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial byte* lua_tolstring(nint state, int index, nuint* size);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial nint lua_touserdata(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial nint lua_topointer(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial ulong lua_rawlen(nint state, int index);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_pushnumber(nint state, double value);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_pushnil(nint state);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_pushboolean(nint state, int value);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_pushinteger(nint state, long value);

    [SuppressGCTransition]
    [LibraryImport(Library)]
    internal static partial void lua_pushlightuserdata(nint state, nint value);

    /// <summary>The address of an exported function that opens a library.</summary>
    internal static nint Export(string name) => NativeLibrary.GetExport(NativeLibrary.Load(Library, typeof(LuaNative).Assembly, null), name);
}
