using System.Text;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting;

/// <summary>The permissions of a script or function, from its flags or its script's first line.</summary>
[Flags]
internal enum ScriptFlags
{
    None = 0,
    NoWrites = 1,
    AllowOom = 2,
    AllowStale = 4,
    NoCluster = 8,
    AllowCrossSlotKeys = 16,
}

/// <summary>A function that a library registers.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Position">Where the interpreter stores it.</param>
/// <param name="Description">The library's description of it; null: none.</param>
/// <param name="Flags">Its permissions.</param>
/// <param name="OnlyReadsParameters">Whether it only reads its two parameters.</param>
internal sealed record RegisteredFunction(string Name, int Position, string? Description, ScriptFlags Flags, bool OnlyReadsParameters);

/// <summary>Collects the functions that a library registers while it is loaded.</summary>
internal sealed class FunctionRegistration
{
    internal static readonly (string Name, ScriptFlags Flag)[] FlagNames =
    [
        ("no-writes", ScriptFlags.NoWrites), ("allow-oom", ScriptFlags.AllowOom), ("allow-stale", ScriptFlags.AllowStale), ("no-cluster", ScriptFlags.NoCluster),
        ("allow-cross-slot-keys", ScriptFlags.AllowCrossSlotKeys),
    ];

    private readonly HashSet<string> _names = new(StringComparer.Ordinal);

    internal List<RegisteredFunction> Functions { get; } = [];

    /// <summary>How many functions the library may register.</summary>
    internal int FunctionsMax { get; init; } = int.MaxValue;

    /// <summary>How the library's functions use their parameters.</summary>
    internal required ArgumentUse Use { get; init; }

    /// <summary>Whether it has tried to register more.</summary>
    internal bool IsOverfull { get; private set; }

    /// <summary>Adds redis.register_function to an interpreter.</summary>
    internal static void AddTo(LuaInterpreter lua) => lua.Add("redis.register_function", Register);

    // Longer than any name of an argument or flag.
    private const int KnownBytesMax = 64;

    private static readonly string[] ArgumentNames = ["function_name", "description", "callback", "flags"];

    private static int Register(LuaCall call)
    {
        FunctionRegistration registration = call.Owner.Registration
            ?? throw new LuaException("redis.register_function can only be called on FUNCTION LOAD command");
        int count = call.Count;
        if (count is < 1 or > 2) throw new LuaException("wrong number of arguments to redis.register_function");
        (string? name, string? description, ScriptFlags flags) = (null, null, ScriptFlags.None);
        nint state = call.State;
        if (count == 1)
        {
            (name, description, flags) = Named(call);
        }
        else
        {
            if (call.TypeOf(1) is not (LuaType.String or LuaType.Number)) throw new LuaException("first argument to redis.register_function must be a string");
            if (call.TypeOf(2) != LuaType.Function) throw new LuaException("second argument to redis.register_function must be a function");
            name = call.String(1);
            Lua.PushValue(state, 2);
        }

        if (!IsValidName(name!)) throw new LuaException("Library names can only contain letters, numbers, or underscores(_) and must be at least one character long");
        if (registration._names.Contains(name!)) throw new LuaException("Function already exists in the library");
        if (registration.Functions.Count >= registration.FunctionsMax)
        {
            registration.IsOverfull = true;
            throw new LuaException("too many functions, see max-functions");
        }

        registration._names.Add(name!);
        bool onlyReads = registration.Use.FunctionOnlyReads(Lua.FirstLine(state));
        registration.Functions.Add(new RegisteredFunction(name!, call.Owner.KeepFrom(state), description, flags, onlyReads));
        return 0;
    }

    internal static bool IsValidName(string name) => name.Length > 0 && name.All(c => char.IsAsciiLetterOrDigit(c) || c == '_');

    // The form with one table. Leaves the function on the stack.
    private static (string Name, string? Description, ScriptFlags Flags) Named(LuaCall call)
    {
        nint state = call.State;
        if (call.TypeOf(1) != LuaType.Table) throw new LuaException("calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).");
        (string? name, string? description, ScriptFlags flags) = (null, null, ScriptFlags.None);
        string? callback = null; // the key, as it is written
        Lua.PushNil(state);
        while (Lua.Next(state, 1))
        {
            if (Lua.TypeOf(state, -2) != LuaType.String) throw new LuaException("named argument key given to redis.register_function is not a string");
            call.Owner.Step();
            string key = TextOf(call, Lua.Top(state) - 1);
            string? known = Array.Find(ArgumentNames, name => name.Equals(key, StringComparison.OrdinalIgnoreCase));
            LuaType type = Lua.TypeOf(state, -1);
            switch (known)
            {
                case "function_name":
                    name = type is LuaType.String or LuaType.Number ? call.String(Lua.Top(state)) : throw new LuaException("function_name argument given to redis.register_function must be a string");
                    break;
                case "description":
                    description = type is LuaType.String or LuaType.Number ? call.String(Lua.Top(state)) : throw new LuaException("description argument given to redis.register_function must be a string");
                    break;
                case "callback":
                    if (type != LuaType.Function) throw new LuaException("callback argument given to redis.register_function must be a function");
                    callback = key;
                    break;
                case "flags":
                    if (type != LuaType.Table) throw new LuaException("flags argument to redis.register_function must be a table representing function flags");
                    flags = FlagsOf(call, Lua.Top(state));
                    break;
                default:
                    throw new LuaException("unknown argument given to redis.register_function");
            }

            Lua.Pop(state);
        }

        if (name is null) throw new LuaException("redis.register_function must get a function name argument");
        if (callback is null) throw new LuaException("redis.register_function must get a callback argument");
        Lua.Push(state, Encoding.Latin1.GetBytes(callback));
        Lua.RawGet(state, 1);
        return (name, description, flags);
    }

    // A string that is no longer than any that is known.
    private static string TextOf(LuaCall call, int index) =>
        Lua.TypeOf(call.State, index) == LuaType.String && Lua.RawLength(call.State, index) <= KnownBytesMax ? Encoding.Latin1.GetString(Lua.ToSpan(call.State, index)) : "";

    private static ScriptFlags FlagsOf(LuaCall call, int index)
    {
        nint state = call.State;
        ScriptFlags flags = ScriptFlags.None;
        for (int i = 1; ; i++)
        {
            call.Owner.Step();
            Lua.RawGet(state, index, i);
            if (Lua.TypeOf(state, -1) == LuaType.Nil) break;
            string name = TextOf(call, Lua.Top(state));
            (string Name, ScriptFlags Flag) known = Array.Find(FlagNames, flag => flag.Name.Equals(name, StringComparison.OrdinalIgnoreCase));
            if (known.Name is null) throw new LuaException("unknown flag given");
            flags |= known.Flag;
            Lua.Pop(state);
        }

        Lua.Pop(state);
        return flags;
    }
}
