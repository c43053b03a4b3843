using System.Runtime.InteropServices;
using System.Text;
using RedKite.Protocol;
using RedKite.Scripting.Interop;
using RedKite.Scripting.Libraries;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting;

/// <summary>
/// A Lua 5.4 interpreter that runs scripts written for Redis's Lua 5.1: compiles them, runs them one at a time, and converts
/// arguments and replies.
/// </summary>
/// <remarks>
/// No managed exception crosses Lua's frames, and no error of Lua crosses managed ones: a managed function that fails returns a marker,
/// and the Lua function around it raises the error (<see cref="Prelude"/>). While managed code runs, memory is not limited, so that no
/// allocation fails there.
/// </remarks>
internal sealed partial class LuaInterpreter : IDisposable
{
    /// <summary>The name of the prelude's chunk: its lines are in no message.</summary>
    internal static ReadOnlySpan<byte> OwnSource => "=redkite"u8;

    private const int GlobalsPosition = 2; // of the registry, by Lua's convention
    private const int PreludePosition = 1_000_000; // of the registry: the prelude's globals
    private const int EnvironmentPosition = 1_000_001;
    private const int HandlerPosition = 1_000_002;
    private const int EnvironmentMetaPosition = 1_000_003;
    private const int KeysNamePosition = 1_000_005;
    private const int ArgumentsNamePosition = 1_000_006;
    private const int SharedKeysPosition = 1_000_007; // the tables shared by scripts that only read them
    private const int SharedArgumentsPosition = 1_000_008;
    private const int SharedVariablesPosition = 1_000_009; // a function whose upvalues are the variables of PreludeParts.Shared
    internal const int ArrayMarkPosition = 1_000_010; // the metatable of decoded arrays of JSON
    private const int WeakNamePosition = 1_000_011; // by which the collector looks for a table's mode
    private const int FirstFunctionPosition = 1_000_100;
    private const int NumberBytesMax = 64;
    private const int KeptBytesMax = 1024 * 1024; // larger buffers are released
    private const int SharedElementsMax = 64;
    private const int BufferBytesMin = 64 * 1024; // with less, no script could run
    private const int SharedBytesMax = 16 * 1024;
    private const nint Failed = 1; // the marker

    /// <summary>The bytes of a script's error that are replied.</summary>
    internal const int ErrorBytesMax = 1 << 20;

    private readonly LuaAllocator _allocator = new();
    private readonly List<(string Name, LuaFunction Function)> _functions = [];
    private readonly ReplyWriter _reply = new();
    private readonly InterruptFlag _interrupt = new();
    private readonly ScriptOutput _output;
    private readonly Stack<int> _freePositions = new();
    private GCHandle _self;
    private nint _state;
    private byte[] _input = new byte[4096];
    private ArgumentSlice[] _arguments = new ArgumentSlice[16];
    private byte[] _text = new byte[256];
    private int _nextPosition = FirstFunctionPosition;
    private ScriptHost? _host;
    private string? _ending; // the error that ends the script, once the host has requested that
    private int _sharedKeys; // elements of the shared tables
    private int _sharedArguments;
    private bool _sharesArguments; // KEYS and ARGV are the shared tables
    private FunctionRegistration? _registration;

    /// <param name="bytesMax">The maximum memory of scripts.</param>
    /// <param name="libraries">Adds functions beyond those of every script; they are in the table `redis`.</param>
    internal LuaInterpreter(long bytesMax, Action<LuaInterpreter>? libraries = null)
    {
        BytesMax = bytesMax;
        _output = new ScriptOutput(_allocator);
        _self = GCHandle.Alloc(this);
        _state = Lua.NewState(_allocator, _self);
        WeakTables.Disable(_state, _allocator, WeakNamePosition);
        AddFunctions();
        libraries?.Invoke(this);
        RunPrelude();
        Lua.CollectByGenerations(_state);
        Reply = new ReplyToLua(_allocator);
    }

    /// <summary>The bytes that the interpreter has allocated.</summary>
    internal long UsedBytes => _allocator.Used;

    /// <summary>How many texts were compiled: scripts and libraries.</summary>
    internal long Compilations { get; private set; }

    /// <summary>How often a script was refused memory. A refusal may succeed on retry, because Lua collects garbage.</summary>
    internal long MemoryRefusals => _allocator.Refusals;

    /// <summary>The maximum memory of scripts, at most <see cref="ScriptSize.MemoryBytesMax"/>.</summary>
    internal long BytesMax
    {
        get => _allocator.BytesMax;
        set => _allocator.BytesMax = Math.Min(value, ScriptSize.MemoryBytesMax);
    }

    /// <summary>The protocol of replies to the script: 2 or 3.</summary>
    internal bool Resp3
    {
        get => _reply.Resp3;
        set => _reply.Resp3 = value;
    }

    /// <summary>Where the last error was raised: the chunk's source and the line; empty if no script's line is known.</summary>
    internal (byte[] Source, int Line) ErrorPosition { get; private set; } = ([], 0);

    internal ScriptRandom Random { get; } = new();

    internal JsonSettings Json { get; private set; } = new();

    /// <summary>A script changes the settings of cjson.</summary>
    internal void Change(JsonSettings json) => Json = json;

    internal nint State => _state;

    /// <summary>The server's functions for the running script.</summary>
    internal ScriptHost Host => _host ?? throw new InvalidOperationException("No script runs.");

    internal bool IsRunning => _host is not null;

    /// <summary>The library that is being loaded; null: none.</summary>
    internal FunctionRegistration? Registration
    {
        get => _registration;
        set
        {
            _registration = value;
            Lua.RawGet(_state, LuaNative.RegistryIndex, EnvironmentMetaPosition);
            Lua.Push(_state, "__index"u8);
            if (value is null) Lua.RawGet(_state, LuaNative.RegistryIndex, EnvironmentPosition);
            else PushFromPrelude(_state, "loading");
            Lua.RawSet(_state, -3);
            Lua.Pop(_state);
        }
    }

    private ReplyToLua Reply { get; }

    /// <summary>Compiles a script; it stays until <see cref="Forget"/>.</summary>
    /// <param name="source">The source text.</param>
    /// <param name="chunkName">Its name in messages, such as user_script.</param>
    /// <param name="position">The function's number.</param>
    /// <param name="use">How it uses its arguments.</param>
    /// <param name="error">The error in it.</param>
    internal bool TryCompile(ReadOnlySpan<byte> source, string chunkName, out int position, out ArgumentUse use, out string error)
    {
        Compilations++;
        position = 0;
        if (!TryLoad(_state, source, "@" + chunkName, chunkName, returnsOne: true, out use, out error)) return false;
        position = Keep();
        return true;
    }

    /// <summary>Stores the function on the top of the stack.</summary>
    internal int Keep() => KeepFrom(_state);

    /// <summary>Stores the function on the top of a thread's stack.</summary>
    internal int KeepFrom(nint state)
    {
        int position = _freePositions.Count > 0 ? _freePositions.Pop() : _nextPosition++;
        Lua.RawSet(state, LuaNative.RegistryIndex, position);
        return position;
    }

    /// <summary>Releases a compiled script.</summary>
    internal void Forget(int position)
    {
        Lua.PushNil(_state);
        Lua.RawSet(_state, LuaNative.RegistryIndex, position);
        _freePositions.Push(position);
    }

    /// <summary>Collects garbage, after scripts were forgotten.</summary>
    internal void Collect() => Lua.CollectAll(_state);

    /// <summary>Pushes a compiled script, to be called by <see cref="TryRun"/>.</summary>
    internal void PushFunction(int position) => Lua.RawGet(_state, LuaNative.RegistryIndex, position);

    /// <summary>
    /// Calls the function below its arguments on the stack. Its result or its error is on the stack afterwards, to be written by
    /// <see cref="ReplyFromLua"/>.
    /// </summary>
    internal bool TryRun(ScriptHost host, int arguments)
    {
        int function = Lua.Top(_state) - arguments;
        Lua.RawGet(_state, LuaNative.RegistryIndex, HandlerPosition);
        Lua.Insert(_state, function);
        _host = host;
        _ending = null;
        ErrorPosition = ([], 0);
        Resp3 = false;
        _allocator.IsLimited = true;
        int status = Lua.ProtectedCall(_state, arguments, 1, function);
        _allocator.IsLimited = false;
        if (_allocator.Used > _allocator.BytesMax / 2) Lua.CollectAll(_state); // the next script has its memory
        if (_ending is not null && status == 0)
        {
            // The script has caught the error that was to end it.
            status = 1;
            Lua.Pop(_state);
            Lua.Push(_state, Encoding.Latin1.GetBytes(_ending));
        }

        return status == 0;
    }

    /// <summary>Whether the error on the top of the stack is a command's, which was counted.</summary>
    internal bool ErrorIsCounted => _ending is null && Lua.TypeOf(_state, -1) == LuaType.Table && ReplyFromLua.IsCounted(_state, Lua.Top(_state));

    /// <summary>The text of the error on the top of the stack, without its position.</summary>
    internal string ErrorText()
    {
        if (_ending is not null) return _ending;
        switch (Lua.TypeOf(_state, -1))
        {
            case LuaType.String:
                return "ERR " + ErrorText(Lua.ToSpan(_state, -1));
            case LuaType.Number:
                return "ERR " + NumberText.Format(Lua.ToNumber(_state, -1));
            case LuaType.Nil:
                return "ERR nil";
            case LuaType.Table:
                Lua.Push(_state, "err"u8);
                Lua.RawGet(_state, -2);
                string text = Lua.TypeOf(_state, -1) switch
                {
                    LuaType.String => ErrorText(Lua.ToSpan(_state, -1)),
                    LuaType.Number => NumberText.Format(Lua.ToNumber(_state, -1)),
                    _ => "ERR unknown error",
                };
                Lua.Pop(_state);
                return text;
            case LuaType.Boolean:
                return Lua.ToBoolean(_state, -1) ? "ERR true" : "ERR false";
            default:
                return "ERR unknown error";
        }
    }

    private static string ErrorText(ReadOnlySpan<byte> text) => Encoding.Latin1.GetString(text[..Math.Min(text.Length, ErrorBytesMax)]);

    /// <summary>Drops everything from the stack, after the reply.</summary>
    internal void ClearStack()
    {
        Lua.SetTop(_state, 0);
        _host = null;
    }

    /// <summary>Compiles a chunk of Lua 5.1. Leaves the function on the stack of a state.</summary>
    internal static bool TryLoad(nint state, ReadOnlySpan<byte> source, string name, string shownName, bool returnsOne, out ArgumentUse use, out string error)
    {
        error = "";
        use = new ArgumentUse();
        use.NoteOtherUse();
        if (ScriptSize.ErrorOf(source.Length) is { } tooLong)
        {
            error = tooLong;
            return false;
        }

        string translated;
        string prologue;
        List<string> helpers;
        try
        {
            translated = ScriptTranslator.Translate(Encoding.Latin1.GetString(source), shownName, returnsOne, out use, out List<(int Line, OperatorMark Mark)> marks);
            (prologue, helpers) = ChunkLocals.UsedBy(translated);
            name = ChunkSource.Encode(name, marks);
        }
        catch (ScriptSyntaxException failure)
        {
            error = failure.Message;
            return false;
        }

        if (!Lua.EnsureStack(state, ChunkLocals.All.Length + 10) || !Lua.Load(state, Encoding.Latin1.GetBytes(prologue + translated), Encoding.Latin1.GetBytes(name + "\0")))
        {
            error = ErrorPositions.OfCompilation(Lua.ToSpan(state, -1), Encoding.Latin1.GetBytes(name));
            Lua.Pop(state);
            return false;
        }

        foreach (string helper in helpers) PushFromPrelude(state, helper);
        if (Lua.ProtectedCall(state, helpers.Count, 1, 0) == 0)
        {
            Lua.RawGet(state, LuaNative.RegistryIndex, SharedVariablesPosition);
            Lua.ShareUpvalue(state, ChunkLocals.FlagName, 1);
            Lua.Pop(state);
            return true;
        }

        error = Encoding.Latin1.GetString(Lua.ToSpan(state, -1));
        Lua.Pop(state);
        return false;
    }

    /// <summary>Makes the running script ask its host whether it may continue, at its next step. From any thread.</summary>
    internal void Interrupt() => _interrupt.Raise();

    /// <summary>Asks the host whether the script may continue. Once it may not, the flag stays raised: each further step fails, too.</summary>
    /// <returns>The error that ends the script, or null.</returns>
    internal string? Tick()
    {
        if (_ending is not null) return _ending;
        _interrupt.Lower(); // before the host is asked: what happens meanwhile raises it again
        _ending = _host?.Tick();
        if (_ending is not null) _interrupt.Raise();
        return _ending;
    }

    /// <summary>Called in every loop of managed code whose length a script decides.</summary>
    /// <exception cref="LuaException">The script ends, or it has used up its memory.</exception>
    internal void Step()
    {
        CheckEnding();
        if (_allocator.Used > _allocator.BytesMax) throw OutOfMemory();
    }

    /// <exception cref="LuaException">The script ends.</exception>
    internal void CheckEnding()
    {
        if (_interrupt.IsRaised && Tick() is { } ending) throw new LuaException(ending);
    }

    /// <inheritdoc cref="LuaAllocator.OutOfMemory"/>
    internal LuaException OutOfMemory() => _allocator.OutOfMemory();

    /// <summary>
    /// The largest buffer that managed code may fill for a script. Buffers double, and Lua copies the result: three times as many bytes.
    /// </summary>
    internal int BufferBytesMax => (int)Math.Clamp((_allocator.BytesMax - _allocator.Used) / 3, BufferBytesMin, Array.MaxLength);

    /// <summary>An empty buffer for the running function's result.</summary>
    internal ScriptOutput BeginOutput() => _output.Begin(BufferBytesMax);

    /// <summary>The error that ends the running script, which it cannot catch.</summary>
    internal string? Ending => _ending;

    internal Span<byte> Input => _input;

    internal ReadOnlySpan<ArgumentSlice> Arguments(int count) => _arguments.AsSpan(0, count);

    /// <inheritdoc/>
    public void Dispose()
    {
        if (_state == 0) return;
        _interrupt.Release();
        Lua.Close(_state);
        _state = 0;
        _allocator.Dispose();
        _self.Free();
    }
}
