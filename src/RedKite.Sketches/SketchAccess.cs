using System.Buffers;
using System.Buffers.Text;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Sketches.Store;
using RedKite.Store.Keyspace;

namespace RedKite.Sketches;

/// <summary>Answers a question about an element of a sketch.</summary>
internal delegate bool ElementTest(Sketch sketch, ReadOnlySpan<byte> element);

/// <summary>The places of a filter that are looked at for an element.</summary>
internal delegate long SketchPlaces(Sketch sketch);

/// <summary>How handlers open sketches, and what the families have in common.</summary>
internal static class SketchAccess
{
    // Of a transaction's or script's work: looking at a place takes some nanoseconds.
    private const int StepsPerPlace = 4;

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

    /// <summary>Opens the filter of a command that adds elements, one that does not exist for a missing key that it may create; otherwise replies that there is none, or WRONGTYPE.</summary>
    internal static bool OpenToInsertOrReply(this scoped in CommandContext cmd, SketchType type, bool creates, out Sketch filter)
    {
        if (!cmd.OpenToWriteOrReply(type, out filter)) return false;
        if (filter.Exists || creates) return true;
        cmd.Reply.Error("ERR not found"u8);
        return false;
    }

    /// <summary>Whether the key of a filter that is to be created is missing; otherwise replies that it is there, or WRONGTYPE.</summary>
    internal static bool IsNewFilterOrReply(this scoped in CommandContext cmd, SketchType type)
    {
        if (!cmd.OpenToWriteOrReply(type, out Sketch filter)) return false;
        if (!filter.Exists) return true;
        cmd.Reply.Error("ERR item exists"u8);
        return false;
    }

    /// <summary>Replies whether a filter contains an element. A missing one contains none.</summary>
    internal static void ReplyContains(this scoped in CommandContext cmd, SketchType type, ElementTest contains)
    {
        if (cmd.OpenToReadOrReply(type, out Sketch filter)) cmd.Reply.Boolean(filter.Exists && contains(filter, cmd[2]));
    }

    /// <summary>Replies for each element whether a filter contains it.</summary>
    internal static void ReplyContainsEach(this scoped in CommandContext cmd, SketchType type, ElementTest contains, SketchPlaces placesOf)
    {
        if (!cmd.OpenToReadOrReply(type, out Sketch filter) || (filter.Exists && !cmd.MayLookAtOrReply(placesOf(filter) * (cmd.Count - 2)))) return;
        cmd.Reply.Array(cmd.Count - 2);
        for (int i = 2; i < cmd.Count; i++) cmd.Reply.Boolean(filter.Exists && contains(filter, cmd[i]));
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

    /// <summary>Whether a command may look at so many places of sketches; otherwise replies that those are too many.</summary>
    internal static bool MayLookAtOrReply(this scoped in CommandContext cmd, long places)
    {
        if (places <= SketchLimits.PlacesMax || cmd.WasAccepted) return cmd.MayTakeOrReply(places * StepsPerPlace);
        cmd.Reply.Error("ERR the command takes too long on sketches of this size: give it fewer elements or keys"u8);
        return false;
    }

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
