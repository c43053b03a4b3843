using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Interop;

/// <summary>The type of a Lua value, by Lua's own numbers.</summary>
internal enum LuaType
{
    None = -1,
    Nil = 0,
    Boolean = 1,
    LightUserdata = 2,
    Number = 3,
    String = 4,
    Table = 5,
    Function = 6,
    Userdata = 7,
    Thread = 8,
}

/// <summary>
/// Lua's stack for managed code, with spans. Every method is raw: none calls a metamethod, so none can raise an error while memory is
/// not limited.
/// </summary>
internal static unsafe class Lua
{
    /// <summary>The index of Lua's registry, a table that scripts do not see.</summary>
    internal const int Registry = LuaNative.RegistryIndex;

    /// <summary>The levels of calls that are searched for the position of an error: reaching a level takes as many steps as it is deep.</summary>
    internal const int LevelsMax = 1024;

    internal static int Top(nint state) => LuaNative.lua_gettop(state);

    internal static void SetTop(nint state, int top) => LuaNative.lua_settop(state, top);

    internal static void Pop(nint state, int count = 1) => LuaNative.lua_settop(state, -count - 1);

    internal static LuaType TypeOf(nint state, int index) => (LuaType)LuaNative.lua_type(state, index);

    internal static bool ToBoolean(nint state, int index) => LuaNative.lua_toboolean(state, index) != 0;

    /// <summary>A number, or the number that a string is; 0 if it is neither.</summary>
    internal static double ToNumber(nint state, int index) => LuaNative.lua_tonumberx(state, index, null);

    internal static long ToInteger(nint state, int index) => LuaNative.lua_tointegerx(state, index, null);

    /// <summary>The bytes of a string. They are valid as long as the string is on the stack.</summary>
    internal static ReadOnlySpan<byte> ToSpan(nint state, int index)
    {
        nuint size;
        byte* text = LuaNative.lua_tolstring(state, index, &size);
        return new ReadOnlySpan<byte>(text, checked((int)size));
    }

    internal static nint ToUserdata(nint state, int index) => LuaNative.lua_touserdata(state, index);

    internal static nint ToPointer(nint state, int index) => LuaNative.lua_topointer(state, index);

    internal static long RawLength(nint state, int index) => (long)LuaNative.lua_rawlen(state, index);

    internal static void Push(nint state, ReadOnlySpan<byte> text)
    {
        fixed (byte* start = text) LuaNative.lua_pushlstring(state, start, (nuint)text.Length);
    }

    internal static void Push(nint state, double value) => LuaNative.lua_pushnumber(state, value);

    internal static void PushInteger(nint state, long value) => LuaNative.lua_pushinteger(state, value);

    internal static void Push(nint state, bool value) => LuaNative.lua_pushboolean(state, value ? 1 : 0);

    internal static void PushNil(nint state) => LuaNative.lua_pushnil(state);

    internal static void PushValue(nint state, int index) => LuaNative.lua_pushvalue(state, index);

    internal static void PushLightUserdata(nint state, nint value) => LuaNative.lua_pushlightuserdata(state, value);

    /// <summary>Moves the top value below those from <paramref name="index"/> on.</summary>
    internal static void Insert(nint state, int index) => LuaNative.lua_rotate(state, index, 1);

    internal static void NewTable(nint state, int elements = 0, int fields = 0) => LuaNative.lua_createtable(state, elements, fields);

    internal static void RawGet(nint state, int index) => _ = LuaNative.lua_rawget(state, index);

    internal static void RawGet(nint state, int index, long position) => _ = LuaNative.lua_rawgeti(state, index, position);

    internal static void RawSet(nint state, int index) => LuaNative.lua_rawset(state, index);

    internal static void RawSet(nint state, int index, long position) => LuaNative.lua_rawseti(state, index, position);

    /// <summary>Gives a table the metatable on the top of the stack, and pops that.</summary>
    internal static void SetMetatable(nint state, int index) => _ = LuaNative.lua_setmetatable(state, index);

    /// <summary>Pushes a value's metatable if it has one.</summary>
    internal static bool PushMetatable(nint state, int index) => LuaNative.lua_getmetatable(state, index) != 0;

    /// <summary>Gives all strings the metatable on the top of the stack, and pops that.</summary>
    internal static void SetMetatableOfStrings(nint state)
    {
        Push(state, ""u8);
        Insert(state, -2);
        SetMetatable(state, -2);
        Pop(state);
    }

    /// <summary>Pushes the metatable of strings if they have one.</summary>
    internal static bool PushMetatableOfStrings(nint state)
    {
        Push(state, ""u8);
        bool hasOne = PushMetatable(state, -1);
        if (hasOne) Insert(state, -2);
        Pop(state);
        return hasOne;
    }

    internal static bool Next(nint state, int index) => LuaNative.lua_next(state, index) != 0;

    /// <summary>Reserves stack space for further values; false beyond Lua's own limit.</summary>
    internal static bool EnsureStack(nint state, int slots) => LuaNative.lua_checkstack(state, slots) != 0;

    /// <summary>Compiles source text. Leaves the function or the message on the stack.</summary>
    internal static bool Load(nint state, ReadOnlySpan<byte> text, ReadOnlySpan<byte> nameWithNul)
    {
        fixed (byte* start = text)
        fixed (byte* name = nameWithNul)
        fixed (byte* mode = "t\0"u8)
        {
            return LuaNative.luaL_loadbufferx(state, start, (nuint)text.Length, name, mode) == 0;
        }
    }

    /// <summary>Calls a function in protected mode; returns Lua's status, 0 = it returned.</summary>
    internal static int ProtectedCall(nint state, int arguments, int results, int handler) =>
        LuaNative.lua_pcallk(state, arguments, results, handler, 0, 0);

    /// <summary>Pushes the native function that creates a library.</summary>
    internal static void PushOpen(nint state, string function) =>
        LuaNative.lua_pushcclosure(state, (delegate* unmanaged[Cdecl]<nint, int>)LuaNative.Export(function), 0);

    /// <summary>Pushes a new thread, whose stack is empty and which no call has nested. It lives as long as it is on the stack.</summary>
    internal static nint PushThread(nint state) => LuaNative.lua_newthread(state);

    /// <summary>Moves the top value to the stack of another thread.</summary>
    internal static void Move(nint from, nint to) => LuaNative.lua_xmove(from, to, 1);

    internal static void CollectAll(nint state) => _ = LuaNative.lua_gc(state, 2, 0, 0);

    /// <summary>
    /// Most of what a script creates is garbage when it ends: collections that examine only new objects take less time. One begins when the memory has
    /// grown by four fifths: an interpreter of 15 KiB would otherwise collect after every 3 KiB.
    /// </summary>
    internal static void CollectByGenerations(nint state) => _ = LuaNative.lua_gc(state, 10, 80, 0);

    /// <summary>The file and line of the innermost function, from a level on, that is a script's.</summary>
    /// <param name="state">The thread.</param>
    /// <param name="level">The level; 0 is the function that runs.</param>
    /// <param name="ownSource">The source of functions that are not a script's.</param>
    /// <param name="source">The file; valid while the function is on the stack.</param>
    /// <param name="line">The line.</param>
    /// <param name="caller">How the script called the function between it and the error.</param>
    /// <param name="called">The name by which the script called it; empty: none is known.</param>
    internal static bool TryFindScriptLine(nint state, int level, ReadOnlySpan<byte> ownSource, out ReadOnlySpan<byte> source, out int line, out LuaCaller caller, out string called)
    {
        // lua_Debug: event 0, name 8, namewhat 16, what 24, source 32, srclen 40, currentline 48.
        const int RecordBytes = 512;
        byte* record = stackalloc byte[RecordBytes];
        caller = LuaCaller.Name;
        called = "";
        fixed (byte* what = "nSl\0"u8)
        {
            for (int end = level + LevelsMax; level < end && LuaNative.lua_getstack(state, level, record) != 0; level++)
            {
                _ = LuaNative.lua_getinfo(state, what, record);
                ReadOnlySpan<byte> found = new(*(byte**)(record + 32), (int)*(nuint*)(record + 40));
                int current = *(int*)(record + 48);
                if (current >= 0 && !found.SequenceEqual(ownSource))
                {
                    source = found;
                    line = current;
                    return true;
                }

                called = CalledName(record);
                if (caller == LuaCaller.Protected) continue;
                if (current < 0 && MemoryMarshal.CreateReadOnlySpanFromNullTerminated(*(byte**)(record + 8)).SequenceEqual("xpcall"u8)) caller = LuaCaller.Protected;
                else caller = MemoryMarshal.CreateReadOnlySpanFromNullTerminated(*(byte**)(record + 16)).SequenceEqual("method"u8) ? LuaCaller.Method : LuaCaller.Name;
            }
        }

        source = [];
        line = 0;
        return false;
    }

    // Only names that a script can have written: Lua also gives names to metamethods and iterators.
    private static string CalledName(byte* record)
    {
        ReadOnlySpan<byte> kind = MemoryMarshal.CreateReadOnlySpanFromNullTerminated(*(byte**)(record + 16));
        if (!kind.SequenceEqual("local"u8) && !kind.SequenceEqual("global"u8) && !kind.SequenceEqual("field"u8) && !kind.SequenceEqual("method"u8) && !kind.SequenceEqual("upvalue"u8)) return "";
        return System.Text.Encoding.Latin1.GetString(MemoryMarshal.CreateReadOnlySpanFromNullTerminated(*(byte**)(record + 8)));
    }

    /// <summary>The source of the function at a level, valid while that is on the stack; false: there is no such level.</summary>
    internal static bool TryGetSource(nint state, int level, out ReadOnlySpan<byte> source)
    {
        const int RecordBytes = 512;
        byte* record = stackalloc byte[RecordBytes];
        source = [];
        if (LuaNative.lua_getstack(state, level, record) == 0) return false;
        fixed (byte* what = "S\0"u8) _ = LuaNative.lua_getinfo(state, what, record);
        source = new ReadOnlySpan<byte>(*(byte**)(record + 32), (int)*(nuint*)(record + 40));
        return true;
    }

    /// <summary>The script's line on which the function on the top of the stack begins; -1: it is not Lua's.</summary>
    internal static int FirstLine(nint state)
    {
        const int RecordBytes = 512;
        byte* record = stackalloc byte[RecordBytes];
        PushValue(state, -1);
        fixed (byte* what = ">S\0"u8) _ = LuaNative.lua_getinfo(state, what, record);
        ReadOnlySpan<byte> source = new(*(byte**)(record + 32), (int)*(nuint*)(record + 40));
        int line = *(int*)(record + 52); // lua_Debug.linedefined
        return ChunkSource.TryRead(source, out ChunkSource chunk) ? chunk.LineOf(line, isIndexing: false) : line;
    }

    /// <summary>Makes the upvalue of that name of the function below the top of the stack, if it has one, the same variable as an upvalue of the function on the top.</summary>
    internal static void ShareUpvalue(nint state, ReadOnlySpan<byte> name, int position)
    {
        for (int i = 1; LuaNative.lua_getupvalue(state, -2, i) is var found && found != null; i++)
        {
            Pop(state);
            if (!MemoryMarshal.CreateReadOnlySpanFromNullTerminated(found).SequenceEqual(name)) continue;
            LuaNative.lua_upvaluejoin(state, -2, i, -1, position);
            return;
        }
    }

    /// <summary>The owner of a state: every thread of it has the pointer in front of its state.</summary>
    internal static LuaInterpreter OwnerOf(nint state) => Unsafe.As<LuaInterpreter>(GCHandle.FromIntPtr(*(nint*)(state - sizeof(nint))).Target!);

    internal static nint NewState(LuaAllocator allocator, GCHandle owner)
    {
        nint state = LuaNative.lua_newstate(LuaAllocator.FirstFunction, allocator.Handle);
        if (state != 0) LuaNative.lua_setallocf(state, LuaAllocator.Function, allocator.Handle);
        if (state == 0) throw new InvalidOperationException("The Lua interpreter cannot be created: no memory.");
        *(nint*)(state - sizeof(nint)) = GCHandle.ToIntPtr(owner);
        return state;
    }

    internal static void Close(nint state) => LuaNative.lua_close(state);

    /// <summary>Pushes a managed function; its number is its upvalue.</summary>
    internal static void PushFunction(nint state, int number)
    {
        PushInteger(state, number);
        LuaNative.lua_pushcclosure(state, &Dispatch, 1);
    }

    internal static void PushCall(nint state) => LuaNative.lua_pushcclosure(state, &Call, 0);

    internal static void PushCallForEffect(nint state) => LuaNative.lua_pushcclosure(state, &CallForEffect, 0);

    internal static void PushConcatenate(nint state) => LuaNative.lua_pushcclosure(state, &Concatenate, 0);

    internal static void PushLength(nint state) => LuaNative.lua_pushcclosure(state, &Length, 0);

    internal static void PushMessageHandler(nint state) => LuaNative.lua_pushcclosure(state, &HandleMessage, 0);

    // The methods that Lua calls contain no import without a transition: each only calls one that is not inlined. After such an import the
    // JIT polls for a garbage collection at the end of the block. In a method that native code calls, that may be after the switch back
    // to preemptive mode. The poll would then leave the thread in cooperative mode, and the next call from Lua would end the process.

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Dispatch(nint state) => Enter.Dispatch(state);

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Call(nint state) => Enter.Call(state);

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int CallForEffect(nint state) => Enter.CallForEffect(state);

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Concatenate(nint state) => Enter.Concatenate(state);

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Length(nint state) => Enter.Length(state);

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int HandleMessage(nint state) => Enter.HandleMessage(state);

    private static class Enter
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int Dispatch(nint state) =>
            OwnerOf(state).Dispatch(state, (int)LuaNative.lua_tointegerx(state, LuaNative.RegistryIndex - 1, null));

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int Call(nint state) => OwnerOf(state).CallCommand(state, wantsResult: true);

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int CallForEffect(nint state) => OwnerOf(state).CallCommand(state, wantsResult: false);

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int Concatenate(nint state) => OwnerOf(state).Concatenate(state);

        // Of the first argument, if it is a table; otherwise the second one, which is the length that Lua found.
        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int Length(nint state)
        {
            if (TypeOf(state, 1) == LuaType.Table) PushInteger(state, TableLength.Of(state, 1));
            return 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        internal static int HandleMessage(nint state) => OwnerOf(state).HandleMessage(state);
    }
}
