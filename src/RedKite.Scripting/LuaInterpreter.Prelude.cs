using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Text;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Libraries;

namespace RedKite.Scripting;

/// <content>What scripts find: the core of the prelude at the start, its parts where they are first used (see <see cref="PreludeParts"/>).</content>
internal sealed partial class LuaInterpreter
{
    private const int PartNameBytesMax = 64;

    private int NumberOf(string function) => _functions.FindIndex(each => each.Name == function);

    private void AddFunctions()
    {
        Add("part", FindPart);
        Add("names", NamesOfParts);
        Add("show", Show);
        Add("managed", FindManaged);
        BaseLibrary.Add(this);
        StringFormat.Add(this);
        PatternLibrary.Add(this);
        RedisLibrary.Add(this);
        BitLibrary.Add(this);
        JsonLibrary.Add(this);
        MessagePackLibrary.Add(this);
        StructLibrary.Add(this);
    }

    private void RunPrelude()
    {
        nint state = _state;
        Lua.PushMessageHandler(state);
        Lua.RawSet(state, LuaNative.RegistryIndex, HandlerPosition);
        OpenLibrary(state, "base");
        Set("part"u8, () => Lua.PushFunction(state, NumberOf("part")));
        Set("raw"u8, () =>
        {
            Lua.NewTable(state);
            Lua.NewTable(state);
            Lua.Push(state, "__index"u8);
            Lua.PushFunction(state, NumberOf("managed"));
            Lua.RawSet(state, -3);
            Lua.SetMetatable(state, -2);
        });
        Set("FAILED"u8, () => Lua.PushLightUserdata(state, Failed));
        Set("null"u8, () => Lua.PushLightUserdata(state, 0)); // cjson.null
        Set("hasFunctions"u8, () => Lua.Push(state, NumberOf("redis.register_function") >= 0));
        Set("call"u8, () => Lua.PushCall(state));
        Set("effect"u8, () => Lua.PushCallForEffect(state));
        Set("concatenate"u8, () => Lua.PushConcatenate(state));
        Set("length"u8, () => Lua.PushLength(state));
        Lua.Pop(state);
        Run(state, Encoding.Latin1.GetBytes(Prelude.Source), 6);
        _interrupt.Attach(state);
        Lua.RawSet(state, LuaNative.RegistryIndex, SharedVariablesPosition);
        Lua.SetMetatableOfStrings(state);
        Lua.RawSet(state, LuaNative.RegistryIndex, PreludePosition);
        Lua.RawSet(state, LuaNative.RegistryIndex, EnvironmentPosition);
        Lua.RawSet(state, LuaNative.RegistryIndex, GlobalsPosition);
        Lua.RawSet(state, LuaNative.RegistryIndex, EnvironmentMetaPosition);
        Lua.Push(state, "KEYS"u8);
        Lua.RawSet(state, LuaNative.RegistryIndex, KeysNamePosition);
        Lua.NewTable(state, 1);
        Lua.RawSet(state, LuaNative.RegistryIndex, SharedKeysPosition);
        Lua.NewTable(state, 1);
        Lua.RawSet(state, LuaNative.RegistryIndex, SharedArgumentsPosition);
        Lua.Push(state, "ARGV"u8);
        Lua.RawSet(state, LuaNative.RegistryIndex, ArgumentsNamePosition);
        Debug.Assert(Lua.Top(state) == 0, "The prelude leaves nothing behind.");

        void Set(ReadOnlySpan<byte> name, Action push)
        {
            Lua.Push(state, name);
            push();
            Lua.RawSet(state, 1);
        }
    }

    /// <summary>Pushes a global of the prelude.</summary>
    internal static void PushFromPrelude(nint state, string name)
    {
        byte[] text = Encoding.Latin1.GetBytes(name);
        Lua.RawGet(state, LuaNative.RegistryIndex, PreludePosition);
        Lua.Push(state, text);
        Lua.RawGet(state, -2);
        if (Lua.TypeOf(state, -1) == LuaType.Nil)
        {
            Lua.Pop(state);
            if (!TryPushPart(state, name)) throw NoPart(name);
            Lua.Push(state, text);
            Lua.PushValue(state, -2);
            Lua.RawSet(state, -4);
        }

        Lua.Insert(state, -2);
        Lua.Pop(state);
    }

    // part(prefix, name): what the part of that name returns, if there is one. Without a prefix it is a global of the prelude; one that is a library
    // of Lua's own is followed by true. Most scripts need few functions of these, so the prelude does not keep their tables.
    private int FindPart(LuaCall call)
    {
        nint state = call.State;
        if (call.TypeOf(2) != LuaType.String || Lua.RawLength(state, 2) > PartNameBytesMax) return 0;
        string name = Encoding.Latin1.GetString(Lua.ToSpan(state, 2));
        if (call.TypeOf(1) == LuaType.String) return TryPushPart(state, Encoding.Latin1.GetString(Lua.ToSpan(state, 1)) + "." + name) ? 1 : 0;
        if (name is not ("string" or "table" or "math" or "coroutine")) return TryPushPart(state, name) ? 1 : throw NoPart(name);
        OpenLibrary(state, name);
        Lua.Push(state, true);
        return 2;
    }

    private static InvalidOperationException NoPart(string name) => new($"The prelude has no part {name}.");

    // raw[name]: a managed function.
    private int FindManaged(LuaCall call)
    {
        int number = NumberOf(Encoding.Latin1.GetString(Lua.ToSpan(call.State, 2)));
        if (number < 0) return 0;
        Lua.PushFunction(call.State, number);
        return 1;
    }

    private static int NamesOfParts(LuaCall call)
    {
        call.Push(PreludeParts.NamesOf(call.String(1)));
        return 1;
    }

    // show(p, t): the read-only table p shows t.
    private int Show(LuaCall call)
    {
        nint state = call.State;
        Lua.RawGet(state, LuaNative.RegistryIndex, GlobalsPosition);
        bool isEnvironment = Lua.ToPointer(state, 1) == Lua.ToPointer(state, -1);
        Lua.Pop(state);
        if (isEnvironment)
        {
            Lua.PushValue(state, 2);
            Lua.RawSet(state, LuaNative.RegistryIndex, EnvironmentPosition);
            if (_registration is not null) return 0; // it shows that when the library is loaded
        }

        Lua.PushMetatable(state, 1);
        Lua.Push(state, "__index"u8);
        Lua.PushValue(state, 2);
        Lua.RawSet(state, -3);
        return 0;
    }

    // A part runs on a thread of its own: whatever the depth of the script that first uses it, neither Lua's stack nor its limit of nested calls can be exhausted.
    private static bool TryPushPart(nint state, string name)
    {
        if (PreludeParts.TextOf(name) is not { } text) return false;
        nint thread = Lua.PushThread(state);
        Run(thread, text, 1);
        Lua.RawGet(thread, LuaNative.RegistryIndex, SharedVariablesPosition);
        for (int i = 0; i < PreludeParts.Shared.Length; i++) Lua.ShareUpvalue(thread, PreludeParts.Shared[i], i + 1);
        Lua.Pop(thread);
        if (Lua.ProtectedCall(thread, 0, 1, 0) != 0) ThrowMessage(thread);
        Lua.Pop(state);
        Lua.Move(thread, state);
        return true;
    }

    private static void OpenLibrary(nint state, string name)
    {
        nint thread = Lua.PushThread(state);
        bool hasMetatable = Lua.PushMetatableOfStrings(thread);
        Lua.PushOpen(thread, "luaopen_" + name);
        if (Lua.ProtectedCall(thread, 0, 1, 0) != 0) ThrowMessage(thread);
        if (hasMetatable) // that of strings has replaced it
        {
            Lua.Insert(thread, 1);
            Lua.SetMetatableOfStrings(thread);
        }

        Lua.Pop(state);
        Lua.Move(thread, state);
    }

    private static void Run(nint state, byte[] text, int results)
    {
        if (!Lua.Load(state, text, "=redkite\0"u8) || Lua.ProtectedCall(state, 0, results, 0) != 0) ThrowMessage(state);
    }

    [DoesNotReturn]
    private static void ThrowMessage(nint state) => throw new InvalidOperationException(Encoding.Latin1.GetString(Lua.ToSpan(state, -1)));
}
