using System.Text;
using RedKite.Scripting;
using RedKite.Scripting.Libraries;
using RedKite.Scripting.Translation;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;

namespace RedKite.Server.Commands.Scripting;

/// <summary>
/// The scripts of EVAL and SCRIPT LOAD, compiled once, by the SHA-1 of their text. Only while the script mutex is held; its figures may
/// be read at any time.
/// </summary>
internal sealed class ScriptCache
{
    // As in Redis: of the scripts that only EVAL has loaded, the least recently used ones are dropped.
    private const int EvaluatedMax = 500;

    private readonly Dictionary<string, CachedScript> _scripts = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<string, CachedScript>.AlternateLookup<ReadOnlySpan<char>> _lookup;
    private readonly LinkedList<CachedScript> _evaluated = new();
    private readonly ScriptUses _uses;
    private CachedScript? _last; // found last: usually the next one too
    private LuaInterpreter? _lua;
    private long _bytes;

    internal ScriptCache(ScriptUses uses)
    {
        _uses = uses;
        _lookup = _scripts.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    /// <summary>The number of scripts.</summary>
    internal int Count => _scripts.Count;

    /// <summary>The bytes of the scripts' texts.</summary>
    internal long TextBytes => Volatile.Read(ref _bytes);

    /// <summary>The bytes of the interpreter.</summary>
    internal long InterpreterBytes => _lua?.UsedBytes ?? 0;

    /// <summary>The scripts that the interpreter has compiled.</summary>
    internal long Compilations => _lua?.Compilations ?? 0;

    /// <summary>Scripts that were dropped because there were too many.</summary>
    internal long Evicted { get; private set; }

    /// <summary>The times that scripts were refused memory.</summary>
    internal long MemoryRefusals => _lua?.MemoryRefusals ?? 0;

    internal LuaInterpreter Interpreter(long bytesMax)
    {
        _lua ??= new LuaInterpreter(bytesMax);
        _lua.BytesMax = bytesMax;
        return _lua;
    }

    /// <summary>The script with a hexadecimal SHA-1; null: there is none.</summary>
    internal CachedScript? Find(ReadOnlySpan<byte> name)
    {
        if (_last is { } last && name.SequenceEqual(last.NameBytes)) return last;
        return FindOther(name);
    }

    private CachedScript? FindOther(ReadOnlySpan<byte> name)
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

        _last = script;
        return script;
    }

    /// <summary>Compiles a script, unless it is known.</summary>
    /// <param name="source">Its text.</param>
    /// <param name="stays">Whether it is to stay until SCRIPT FLUSH.</param>
    /// <param name="cmd">The command.</param>
    /// <returns>Null if an error was replied.</returns>
    internal CachedScript? AddOrReply(scoped in CommandContext cmd, ReadOnlySpan<byte> source, bool stays)
    {
        string name = RedisLibrary.Sha1(source);
        if (!_scripts.TryGetValue(name, out CachedScript? script))
        {
            if (ScriptSize.ErrorOf(source.Length) is { } tooLong)
            {
                cmd.Reply.Error("ERR " + tooLong);
                return null;
            }

            if (ScriptShebang.ReadScript(source, out ScriptFlags? flags, out ReadOnlySpan<byte> body) is { } error)
            {
                cmd.Reply.Error(error);
                return null;
            }

            if (!MayKeepOrReply(cmd, source.Length, stays, isNew: true)) return null;
            if (!Interpreter(cmd.Settings.ScriptMemoryBytesMax).TryCompile(body, "user_script", out int position, out ArgumentUse use, out string problem))
            {
                cmd.Reply.Error("ERR Error compiling script (new function): " + problem);
                return null;
            }

            script = new CachedScript(name, position, flags, source.ToArray(), _uses.Add(new ScriptUse(name, library: null, ScriptUse.Beginning(source)))) { OnlyReadsArguments = use.OnlyReads };
            _scripts.Add(name, script);
            Volatile.Write(ref _bytes, _bytes + source.Length);
            _last = null; // another one is now the newest of those that EVAL has loaded
            if (!stays) script.Node = _evaluated.AddLast(script);
            if (_evaluated.Count > EvaluatedMax) Evict(_evaluated.First!.Value);
        }

        if (stays && script.Node is { } node)
        {
            if (!MayKeepOrReply(cmd, 0, stays, isNew: false)) return null;
            _evaluated.Remove(node);
            script.Node = null;
        }

        return script;
    }

    internal bool Contains(ReadOnlySpan<byte> name) => Find(name) is not null;

    /// <summary>Forgets all scripts and releases the interpreter's memory.</summary>
    internal void Flush()
    {
        foreach (CachedScript script in _scripts.Values) _uses.Remove(script.Use);
        _last = null;
        _scripts.Clear();
        _evaluated.Clear();
        Volatile.Write(ref _bytes, 0);
        _lua?.Dispose();
        _lua = null;
    }

    // Scripts of EVAL are dropped to make room for others. A script of EVAL is refused only if it is too long by itself.
    private bool MayKeepOrReply(scoped in CommandContext cmd, int bytes, bool stays, bool isNew)
    {
        if (stays && _scripts.Count - _evaluated.Count >= cmd.Settings.CachedScriptsMax)
        {
            cmd.ReplyOverLimit(Limit.CachedScripts, $"ERR too many cached scripts, max-cached-scripts is {cmd.Settings.CachedScriptsMax}. SCRIPT FLUSH removes them");
            return false;
        }

        if (!isNew) return true;
        long bytesMax = Math.Min(cmd.Settings.CachedScriptBytesMax, ScriptSize.KeptBytesMax);
        while (_bytes + bytes > bytesMax && _evaluated.Count > 0) Evict(_evaluated.First!.Value);
        if (bytes <= bytesMax && (!stays || _bytes + bytes <= bytesMax)) return true;
        cmd.ReplyOverLimit(Limit.CachedScriptBytes, $"ERR the text of scripts is too long, {(bytesMax < cmd.Settings.CachedScriptBytesMax ? "the limit by the process's memory is" : "max-cached-script-bytes is")} {bytesMax}. SCRIPT FLUSH removes them");
        return false;
    }

    private void Evict(CachedScript script)
    {
        _last = null;
        _evaluated.RemoveFirst();
        _scripts.Remove(script.Name);
        _uses.Remove(script.Use);
        _lua!.Forget(script.Position);
        Volatile.Write(ref _bytes, _bytes - script.Text.Length);
        Evicted++;
    }
}

/// <summary>A compiled script.</summary>
/// <param name="name">The SHA-1 of its text.</param>
/// <param name="position">Its position in the interpreter.</param>
/// <param name="flags">The flags of its first line; null: it has none.</param>
/// <param name="text">Its text, for SCRIPT SHOW.</param>
/// <param name="use">How it was used.</param>
internal sealed class CachedScript(string name, int position, ScriptFlags? flags, byte[] text, ScriptUse use)
{
    internal const int NameLength = 40;

    internal string Name => name;

    internal byte[] NameBytes { get; } = Encoding.ASCII.GetBytes(name);

    internal int Position => position;

    internal ScriptFlags? Flags => flags;

    internal byte[] Text => text;

    internal ScriptUse Use => use;

    /// <summary>Whether it only reads KEYS and ARGV.</summary>
    internal bool OnlyReadsArguments { get; init; }

    /// <summary>Its position among those that only EVAL has loaded; null: it stays.</summary>
    internal LinkedListNode<CachedScript>? Node { get; set; }
}
