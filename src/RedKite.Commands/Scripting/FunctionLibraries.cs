using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Scripting;
using RedKite.Scripting.Translation;
using RedKite.Server.Config;
using RedKite.Server.Durability;
using RedKite.Server.Metrics;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Scripting;

/// <summary>A loaded library.</summary>
/// <param name="Name">Its name.</param>
/// <param name="Code">Its text.</param>
/// <param name="Functions">The functions that it registered.</param>
internal sealed record FunctionLibrary(string Name, byte[] Code, List<RegisteredFunction> Functions);

/// <summary>A function that may be called.</summary>
/// <param name="Function">The function as its library registered it.</param>
/// <param name="Use">How it was used; null: nothing is counted.</param>
internal sealed record LoadedFunction(RegisteredFunction Function, ScriptUse? Use)
{
    internal byte[] NameBytes { get; } = Encoding.Latin1.GetBytes(Function.Name);
}

/// <summary>
/// The libraries of FUNCTION LOAD and their functions. Only while the script mutex is held; the counts may be read at any time.
/// </summary>
internal sealed class FunctionLibraries : IKeylessData
{
    private readonly SortedDictionary<string, FunctionLibrary> _libraries = new(StringComparer.Ordinal);
    private readonly ScriptUses? _uses;
    private readonly Dictionary<string, LoadedFunction> _functions = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, LoadedFunction>.AlternateLookup<ReadOnlySpan<char>> _lookup;
    private LoadedFunction? _last; // found last: usually the next one too
    private LuaInterpreter? _lua;

    /// <param name="uses">Counts the uses of each function; null: they are not counted, because none is called.</param>
    internal FunctionLibraries(ScriptUses? uses = null)
    {
        _uses = uses;
        _lookup = _functions.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    internal int LibraryCount => _libraries.Count;

    internal int FunctionCount => _functions.Count;

    internal IEnumerable<FunctionLibrary> All => _libraries.Values;

    internal long InterpreterBytes => _lua?.UsedBytes ?? 0;

    /// <summary>The libraries that the interpreter has compiled.</summary>
    internal long Compilations => _lua?.Compilations ?? 0;

    /// <summary>The bytes of the libraries' texts.</summary>
    internal long TextBytes { get; private set; }

    public string Name => "functions";

    public string RecordName => "a library of functions";

    public RdbRecordForm Form => RdbRecordForm.Function;

    public int Count => _libraries.Count;

    public long Bytes => TextBytes;

    public IEnumerable<byte[]> Records => _libraries.Values.Select(static library => library.Code);

    public byte[][] ClearRequest => ["FUNCTION"u8.ToArray(), "FLUSH"u8.ToArray(), "SYNC"u8.ToArray()];

    /// <summary>None: Redis's digest is of keys.</summary>
    public ReadOnlyMemory<byte> Digest => default;

    public byte[][] LoadRequest(byte[] record, bool replaces) =>
        replaces ? ["FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), "REPLACE"u8.ToArray(), record] : ["FUNCTION"u8.ToArray(), "LOAD"u8.ToArray(), record];

    public void KeysFlushed()
    {
        // As in Redis, they stay.
    }

    internal LuaInterpreter Interpreter(long bytesMax)
    {
        _lua ??= new LuaInterpreter(bytesMax, FunctionRegistration.AddTo);
        _lua.BytesMax = bytesMax;
        return _lua;
    }

    internal LoadedFunction? Find(ReadOnlySpan<byte> name)
    {
        return _last is { } last && name.SequenceEqual(last.NameBytes) ? last : FindOther(name);
    }

    private LoadedFunction? FindOther(ReadOnlySpan<byte> name)
    {
        const int NameMax = 256;
        if (name.Length > NameMax) return name.Length > ScriptSize.SourceBytesMax ? null : _functions.GetValueOrDefault(Encoding.Latin1.GetString(name));
        Span<char> text = stackalloc char[NameMax];
        text = text[..Encoding.Latin1.GetChars(name, text)];
        return _lookup.TryGetValue(text, out _last) ? _last : null;
    }

    internal FunctionLibrary? FindLibrary(string name) => _libraries.GetValueOrDefault(name);

    /// <summary>Runs a library's text and adds what it registers. Adds all or nothing.</summary>
    /// <param name="host">The functions of the server that the text may use.</param>
    /// <param name="code">The text with its first line.</param>
    /// <param name="replaces">Whether a library of the same name is replaced.</param>
    /// <param name="settings">The limits.</param>
    /// <param name="name">The library's name.</param>
    /// <param name="broken">The limit that it broke.</param>
    /// <returns>The error, or null.</returns>
    internal string? Load(ScriptHost host, ReadOnlySpan<byte> code, bool replaces, Settings settings, out string name, out Limit? broken)
    {
        broken = null;
        if (ScriptSize.ErrorOf(code.Length) is { } tooLong)
        {
            name = "";
            return "ERR " + tooLong;
        }

        if (ScriptShebang.ReadLibrary(code, out name, out ReadOnlySpan<byte> body) is { } problem) return problem;
        FunctionLibrary? old = FindLibrary(name);
        if (old is not null && !replaces) return $"ERR Library '{name}' already exists";
        long bytesMax = Math.Min(settings.FunctionBytesMax, ScriptSize.KeptBytesMax);
        if (TextBytes - (old?.Code.Length ?? 0) + code.Length > bytesMax)
        {
            broken = Limit.FunctionBytes;
            return $"ERR the text of libraries is too long, {(bytesMax < settings.FunctionBytesMax ? "the limit by the process's memory is" : "max-function-bytes is")} {bytesMax}";
        }

        LuaInterpreter lua = Interpreter(settings.ScriptMemoryBytesMax);
        if (!lua.TryCompile(body, "user_function", out int position, out ArgumentUse use, out string error)) return "ERR Error compiling function: " + error;

        var registration = new FunctionRegistration { Use = use, FunctionsMax = settings.FunctionsMax - FunctionCount + (old?.Functions.Count ?? 0) };
        string? failure = Run(lua, host, position, registration);
        lua.Forget(position);
        if (registration.IsOverfull) broken = Limit.Functions;
        failure ??= registration.Functions.Count == 0 ? "ERR No functions registered" : null;
        failure ??= Conflict(registration, old);
        if (failure is not null)
        {
            foreach (RegisteredFunction function in registration.Functions) lua.Forget(function.Position);
            return failure;
        }

        if (old is not null) Remove(old);
        _libraries.Add(name, new FunctionLibrary(name, code.ToArray(), registration.Functions));
        string text = ScriptUse.Beginning(code);
        foreach (RegisteredFunction function in registration.Functions)
        {
            _functions.Add(function.Name, new LoadedFunction(function, _uses?.Add(new ScriptUse(function.Name, name, text))));
        }

        TextBytes += code.Length;
        return null;
    }

    internal bool Delete(string name)
    {
        if (FindLibrary(name) is not { } library) return false;
        Remove(library);
        _lua!.Collect();
        return true;
    }

    /// <summary>Forgets all libraries and releases the interpreter's memory.</summary>
    internal void Flush()
    {
        _libraries.Clear();
        foreach (LoadedFunction function in _functions.Values) Forget(function);
        _functions.Clear();
        TextBytes = 0;
        _lua?.Dispose();
        _lua = null;
    }

    private static string? Run(LuaInterpreter lua, ScriptHost host, int position, FunctionRegistration registration)
    {
        lua.Registration = registration;
        lua.PushFunction(position);
        bool returned = lua.TryRun(host, 0);
        lua.Registration = null;
        string? failure = returned ? null : "ERR Error registering functions: " + lua.ErrorText();
        lua.ClearStack();
        return failure;
    }

    // Another library may have a function of the same name.
    private string? Conflict(FunctionRegistration registration, FunctionLibrary? old)
    {
        foreach (RegisteredFunction function in registration.Functions)
        {
            if (_functions.TryGetValue(function.Name, out LoadedFunction? known) && old?.Functions.Contains(known.Function) != true) return $"ERR Function {function.Name} already exists";
        }

        return null;
    }

    private void Forget(LoadedFunction function)
    {
        _last = null;
        if (function.Use is { } use) _uses!.Remove(use);
    }

    private void Remove(FunctionLibrary library)
    {
        _libraries.Remove(library.Name);
        TextBytes -= library.Code.Length;
        foreach (RegisteredFunction function in library.Functions)
        {
            if (_functions.Remove(function.Name, out LoadedFunction? loaded)) Forget(loaded);
            _lua!.Forget(function.Position);
        }
    }
}
