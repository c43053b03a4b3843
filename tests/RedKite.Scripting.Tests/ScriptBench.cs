using System.Text;
using RedKite.Protocol;
using RedKite.Scripting.Libraries;
using RedKite.Scripting.Translation;

namespace RedKite.Scripting.Tests;

/// <summary>Runs scripts in an interpreter of their own, without a server.</summary>
internal sealed class ScriptBench : IDisposable
{
    private const long BytesMax = 256 * 1024 * 1024;

    internal LuaInterpreter Lua { get; } = new(BytesMax);

    internal RecordingHost Host { get; } = new();

    public void Dispose() => Lua.Dispose();

    /// <summary>The reply to a script, as bytes of RESP2 in Latin-1.</summary>
    internal string Run(string script, string[]? keys = null, string[]? arguments = null, bool resp3 = false)
    {
        byte[] source = Encoding.Latin1.GetBytes(script);
        var reply = new ReplyWriter { Resp3 = resp3 };
        if (!Lua.TryCompile(source, "user_script", out int position, out ArgumentUse use, out string error))
        {
            reply.Error("ERR Error compiling script (new function): " + error);
            return Encoding.Latin1.GetString(reply.Written);
        }

        SetArguments(keys ?? [], arguments ?? [], use.OnlyReads);
        Lua.PushFunction(position);
        ScriptRun.Run(Lua, 0, Host, RedisLibrary.Sha1(source), reply);
        Lua.Forget(position);
        return Encoding.Latin1.GetString(reply.Written);
    }

    private void SetArguments(string[] keys, string[] arguments, bool areOnlyRead)
    {
        byte[] input = Encoding.Latin1.GetBytes(string.Concat(keys) + string.Concat(arguments));
        int at = 0;
        ArgumentSlice[] slices = [.. keys.Concat(arguments).Select(text =>
        {
            at += text.Length;
            return new ArgumentSlice(at - text.Length, text.Length);
        })];
        Lua.SetArguments(input, slices.AsSpan(0, keys.Length), slices.AsSpan(keys.Length), areOnlyRead);
    }

    /// <summary>Replies to each command as prepared, and records it.</summary>
    internal sealed class RecordingHost : ScriptHost
    {
        internal List<string> Calls { get; } = [];

        internal List<(string Code, bool WasCounted)> Errors { get; } = [];

        internal string Reply { get; set; } = "+OK\r\n";

        internal Func<string?> Ticks { get; set; } = () => null;

        internal override void Call(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments, ReplyWriter reply)
        {
            Calls.Add(Text(input, arguments));
            reply.Raw(Encoding.Latin1.GetBytes(Reply));
        }

        internal override CommandPermission MayExecute(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments) => Text(input, arguments) == "unknown" ? CommandPermission.NoCommand : CommandPermission.Allowed;

        internal override void NoteError(string code, bool wasCounted) => Errors.Add((code, wasCounted));

        internal override void SetReplication(bool toLog, bool toReplicas) => Calls.Add($"set_repl {toLog} {toReplicas}");

        internal override void Log(int level, string text) => Calls.Add($"log {level} {text}");

        internal override string? Tick() => Ticks();

        private static string Text(Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
        {
            var words = new List<string>();
            foreach (ArgumentSlice argument in arguments) words.Add(Encoding.Latin1.GetString(input.Slice(argument.Start, argument.Length)));
            return string.Join(' ', words);
        }
    }
}
