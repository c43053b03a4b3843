using System.Buffers;
using System.Buffers.Text;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Sketches.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Sketches;

/// <summary>How handlers open sketches, and what the families have in common.</summary>
internal static class SketchAccess
{
    /// <summary>Opens a key's sketch to read it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToReadOrReply(this scoped in CommandContext cmd, SketchType type, out Sketch sketch, int argument = 1) =>
        TryOpenOrReply(cmd, cmd.Find(argument), type, out sketch);

    /// <summary>Opens a key's sketch to change it, one that does not exist for a missing key; otherwise replies WRONGTYPE.</summary>
    internal static bool OpenToWriteOrReply(this scoped in CommandContext cmd, SketchType type, out Sketch sketch) =>
        TryOpenOrReply(cmd, cmd.FindToWrite(1), type, out sketch);

    /// <summary>Opens a key's sketch; otherwise replies that there is none, or WRONGTYPE.</summary>
    internal static bool OpenExistingOrReply(this scoped in CommandContext cmd, SketchType type, bool writes, ReadOnlySpan<byte> missing, out Sketch sketch, int argument = 1)
    {
        if (!TryOpenOrReply(cmd, writes ? cmd.FindToWrite(argument) : cmd.Find(argument), type, out sketch)) return false;
        if (sketch.Exists) return true;
        cmd.Reply.Error(missing);
        return false;
    }

    /// <summary>Whether the key is missing; otherwise replies that it is there.</summary>
    internal static bool IsMissingOrReply(this scoped in CommandContext cmd, ReadOnlySpan<byte> there)
    {
        if (!cmd.FindToWrite(1).Exists) return true;
        cmd.Reply.Error(there);
        return false;
    }

    /// <summary>Creates a sketch at the missing first key.</summary>
    internal static Sketch Create(this scoped in CommandContext cmd, SketchType type) => Sketch.Create(cmd.Database, cmd[1], cmd.HashOf(1), type, cmd.Accesses.NewClock);

    /// <summary>Whether the request was accepted before, by a primary or for the log: no setting refuses it now.</summary>
    internal static bool WasAccepted(this scoped in CommandContext cmd) => cmd.Environment.Time.CallersExpiry == ExpiryPolicy.Keep;

    /// <summary>Reads a number of an option.</summary>
    internal static bool TryNumberOrReply(this scoped in CommandContext cmd, int argument, ReadOnlySpan<byte> error, long min, long max, ReadOnlySpan<byte> rangeError, out long value)
    {
        bool isNumber = RespNumber.TryParseInt64(cmd[argument], out value);
        if (isNumber && value >= min && value <= max) return true;
        cmd.Reply.Error(isNumber ? rangeError : error);
        return false;
    }

    /// <summary>The first argument from an index on that is a word; -1: none is.</summary>
    internal static int IndexOf(this scoped in CommandContext cmd, ReadOnlySpan<byte> word, int start)
    {
        for (int i = start; i < cmd.Count; i++)
        {
            if (cmd.Is(i, word)) return i;
        }

        return -1;
    }

    internal static void ReplyArity(this scoped in CommandContext cmd) => cmd.Reply.Error($"ERR wrong number of arguments for '{cmd.Command.Name}' command");

    /// <summary>What replicas and the log get of the request behind the command that created its key: itself.</summary>
    internal static void EffectOfRequest(this scoped in CommandContext cmd)
    {
        EffectArguments effect = cmd.Effect(cmd[0], cmd.Count);
        for (int i = 1; i < cmd.Count; i++) effect = effect.Argument(cmd[i]);
    }

    /// <summary>Begins an array whose length is known at its end (<see cref="EndArray"/>).</summary>
    internal static long BeginArray(this ReplyWriter reply) => reply.Length;

    internal static void EndArray(this ReplyWriter reply, long start, int count)
    {
        long end = reply.Length;
        reply.Array(count);
        reply.MoveToFront(start, end);
    }

    internal static void Field(this ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.SimpleString(name);
        reply.Integer(value);
    }

    /// <summary>A floating-point number in an effect: the shortest text that is read as the same.</summary>
    internal static EffectArguments Argument(this EffectArguments effect, double value)
    {
        Span<byte> text = stackalloc byte[32];
        Utf8Formatter.TryFormat(value, text, out int written, new StandardFormat('R'));
        return effect.Argument(text[..written]);
    }

    private static bool TryOpenOrReply(scoped in CommandContext cmd, Entry entry, SketchType type, out Sketch sketch)
    {
        sketch = default;
        if (!cmd.IsTypeOrReply(entry, type.Number)) return false;
        sketch = Sketch.Of(cmd.Database, entry);
        return true;
    }
}
