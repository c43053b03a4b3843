using System.Text;
using RedKite.Scripting;
using RedKite.Scripting.Libraries;

namespace RedKite.Server.Commands.Scripting;

/// <summary>
/// The scripts of EVAL and SCRIPT LOAD, compiled once, by the SHA-1 of their text. Only while the script mutex is held; its figures may
/// be read at any time.
/// </summary>
internal sealed class ScriptCache
{
    // As Redis: of the scripts that only EVAL has brought, the ones used longest ago go.
    private const int EvaluatedMax = 500;

    private readonly Dictionary<string, CachedScript> _scripts = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, CachedScript>.AlternateLookup<ReadOnlySpan<char>> _lookup;
    private readonly LinkedList<CachedScript> _evaluated = new();
    private LuaInterpreter? _lua;
    private long _bytes;

    internal ScriptCache() => _lookup = _scripts.GetAlternateLookup<ReadOnlySpan<char>>();

    /// <summary>The number of scripts.</summary>
    internal int Count => _scripts.Count;

    /// <summary>The bytes of the scripts' texts.</summary>
    internal long TextBytes => Volatile.Read(ref _bytes);

    /// <summary>The bytes of the interpreter.</summary>
    internal long InterpreterBytes => _lua?.UsedBytes ?? 0;

    /// <summary>Scripts that were dropped because there were too many.</summary>
    internal long Evicted { get; private set; }

    internal LuaInterpreter Interpreter(long bytesMax)
    {
        _lua ??= new LuaInterpreter(bytesMax);
        _lua.BytesMax = bytesMax;
        return _lua;
    }

    /// <summary>A script by its name in hexadecimal digits; null: there is none.</summary>
    internal CachedScript? Find(ReadOnlySpan<byte> name)
    {
        if (name.Length != CachedScript.NameLength) return null;
        Span<char> text = stackalloc char[CachedScript.NameLength];
        Encoding.Latin1.GetChars(name, text);
        if (!_lookup.TryGetValue(text, out CachedScript? script)) return null;
        if (script.Node is { } node && node != _evaluated.Last)
        {
            _evaluated.Remove(node);
            _evaluated.AddLast(node);
        }

        return script;
    }

    /// <summary>Compiles a script, unless it is known.</summary>
    /// <param name="source">Its text.</param>
    /// <param name="stays">Whether it is to stay until SCRIPT FLUSH.</param>
    /// <param name="bytesMax">The most memory that scripts may use.</param>
    /// <param name="error">What is wrong with it.</param>
    internal CachedScript? Add(ReadOnlySpan<byte> source, bool stays, long bytesMax, out string? error)
    {
        error = null;
        string name = RedisLibrary.Sha1(source);
        if (!_scripts.TryGetValue(name, out CachedScript? script))
        {
            error = ScriptShebang.ReadScript(source, out ScriptFlags? flags, out ReadOnlySpan<byte> body);
            if (error is not null) return null;
            if (!Interpreter(bytesMax).TryCompile(body, "user_script", out int position, out string problem))
            {
                error = "ERR Error compiling script (new function): " + problem;
                return null;
            }

            script = new CachedScript(name, position, flags, source.Length);
            _scripts.Add(name, script);
            Volatile.Write(ref _bytes, _bytes + source.Length);
            if (!stays) script.Node = _evaluated.AddLast(script);
            if (_evaluated.Count > EvaluatedMax) Evict(_evaluated.First!.Value);
        }

        if (stays && script.Node is { } node)
        {
            _evaluated.Remove(node);
            script.Node = null;
        }

        return script;
    }

    internal bool Contains(ReadOnlySpan<byte> name) => Find(name) is not null;

    /// <summary>Forgets all scripts and releases the interpreter's memory.</summary>
    internal void Flush()
    {
        _scripts.Clear();
        _evaluated.Clear();
        Volatile.Write(ref _bytes, 0);
        _lua?.Dispose();
        _lua = null;
    }

    private void Evict(CachedScript script)
    {
        _evaluated.RemoveFirst();
        _scripts.Remove(script.Name);
        _lua!.Forget(script.Position);
        Volatile.Write(ref _bytes, _bytes - script.Bytes);
        Evicted++;
    }
}

/// <summary>A compiled script.</summary>
/// <param name="name">The SHA-1 of its text.</param>
/// <param name="position">Where the interpreter has it.</param>
/// <param name="flags">What its first line says; null: it has none.</param>
/// <param name="bytes">The length of its text.</param>
internal sealed class CachedScript(string name, int position, ScriptFlags? flags, int bytes)
{
    internal const int NameLength = 40;

    internal string Name => name;

    internal int Position => position;

    internal ScriptFlags? Flags => flags;

    internal int Bytes => bytes;

    /// <summary>Its place among those that EVAL has brought; null: it stays.</summary>
    internal LinkedListNode<CachedScript>? Node { get; set; }
}
