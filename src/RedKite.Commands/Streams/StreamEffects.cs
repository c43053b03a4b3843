using RedKite.Server.Changes;
using RedKite.Server.Model;
using RedKite.Store.Values.Streams;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// The effects of stream commands whose result depends on the time, on the layout of nodes, or on what consumers have read:
/// the ids that were chosen, the length that a trimming left, and for each delivery the consumer that now has it.
/// </summary>
internal static class StreamEffects
{
    // A large delivery is split, because a request has a limited number of arguments.
    private const int IdsPerCommand = 1_000;

    /// <summary>XADD with the id that was chosen and the length that a trimming left.</summary>
    internal static void Add(scoped in CommandContext cmd, int key, in StreamId id, int firstText, bool isTrimmed, long length)
    {
        EffectArguments effect = cmd.Effect("XADD"u8, 3 + (isTrimmed ? 3 : 0) + cmd.Count - firstText).Argument(cmd[key]);
        if (isTrimmed) effect.Argument("MAXLEN"u8).Argument("="u8).Argument(length);
        effect.Argument(id);
        for (int i = firstText; i < cmd.Count; i++) effect.Argument(cmd[i]);
    }

    /// <summary>XCFGSET: for how long and how many ids of producers a stream remembers.</summary>
    internal static void Configure(scoped in CommandContext cmd, int key, int durationSeconds, int idsMax)
    {
        if (!cmd.Recording.TakesEffects) return;
        cmd.Effect("XCFGSET"u8, 6).Argument(cmd[key]).Argument("IDMP-DURATION"u8).Argument(durationSeconds).Argument("IDMP-MAXSIZE"u8).Argument(idsMax);
    }

    /// <summary>XIDMPRECORD: the id that a producer has given to an entry, which is there.</summary>
    internal static void Remember(scoped in CommandContext cmd, int key, ReadOnlySpan<byte> producer, ReadOnlySpan<byte> text, in StreamId id)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("XIDMPRECORD"u8, 5).Argument(cmd[key]).Argument(producer).Argument(text).Argument(id);
    }

    /// <summary>XTRIM to the length that a trimming left.</summary>
    internal static void Trim(scoped in CommandContext cmd, int key, long length) =>
        cmd.Effect("XTRIM"u8, 5).Argument(cmd[key]).Argument("MAXLEN"u8).Argument("="u8).Argument(length);

    /// <summary>XGROUP CREATE with the id that <c>$</c> stood for.</summary>
    internal static void CreateGroup(scoped in CommandContext cmd, int key, int group, in StreamId id, bool makesStream, long entriesRead)
    {
        EffectArguments effect = cmd.Effect("XGROUP"u8, makesStream ? 8 : 7).Argument("CREATE"u8).Argument(cmd[key]).Argument(cmd[group]).Argument(id);
        if (makesStream) effect.Argument("MKSTREAM"u8);
        effect.Argument("ENTRIESREAD"u8).Argument(entriesRead);
    }

    /// <summary>XGROUP SETID: what the group has read.</summary>
    internal static void SetGroup(scoped in CommandContext cmd, int key, StreamGroup group) =>
        cmd.Effect("XGROUP"u8, 7).Argument("SETID"u8).Argument(cmd[key]).Argument(group.Name).Argument(group.LastId)
            .Argument("ENTRIESREAD"u8).Argument(group.EntriesRead);

    /// <summary>XGROUP CREATECONSUMER, for a command that created one by naming it.</summary>
    internal static void CreateConsumer(scoped in CommandContext cmd, int key, int group, int consumer) =>
        cmd.Effect("XGROUP"u8, 5).Argument("CREATECONSUMER"u8).Argument(cmd[key]).Argument(cmd[group]).Argument(cmd[consumer]);

    /// <summary>XCLAIM: entries became pending for a consumer, with the same history.</summary>
    internal static void Claim(
        scoped in CommandContext cmd, int key, int group, int consumer, scoped ReadOnlySpan<StreamId> ids, long deliveredMs, long deliveries)
    {
        while (cmd.Recording.TakesEffects && ids.Length > 0)
        {
            int count = Math.Min(ids.Length, IdsPerCommand);
            EffectArguments effect = cmd.Effect("XCLAIM"u8, 11 + count).Argument(cmd[key]).Argument(cmd[group]).Argument(cmd[consumer]).Argument(0);
            foreach (StreamId id in ids[..count]) effect.Argument(id);
            effect.Argument("TIME"u8).Argument(deliveredMs).Argument("RETRYCOUNT"u8).Argument(deliveries).Argument("FORCE"u8).Argument("JUSTID"u8);
            ids = ids[count..];
        }
    }

    /// <summary>XCLAIM by the consumer with the empty name: an entry that XNACK has refused.</summary>
    internal static void Refuse(scoped in CommandContext cmd, int key, StreamGroup group, in StreamId id, long deliveries)
    {
        if (!cmd.Recording.TakesEffects) return;
        cmd.Effect("XCLAIM"u8, 12).Argument(cmd[key]).Argument(group.Name).Argument(default(ReadOnlySpan<byte>)).Argument(0).Argument(id)
            .Argument("TIME"u8).Argument(0).Argument("RETRYCOUNT"u8).Argument(deliveries).Argument("FORCE"u8).Argument("JUSTID"u8);
    }

    /// <summary>XDEL of an entry.</summary>
    internal static void Delete(scoped in CommandContext cmd, int key, in StreamId id)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("XDEL"u8, 3).Argument(cmd[key]).Argument(id);
    }

    /// <summary>XACK in a group that may not be an argument.</summary>
    internal static void Acknowledge(scoped in CommandContext cmd, int key, StreamGroup group, in StreamId id)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("XACK"u8, 4).Argument(cmd[key]).Argument(group.Name).Argument(id);
    }

    /// <summary>XDEL and XACK of what a removal has removed.</summary>
    internal static void Removals(scoped in CommandContext cmd, int key, StreamValue stream, StreamRemovals removals)
    {
        foreach (StreamReference reference in removals.References) Acknowledge(cmd, key, stream.GroupAt(reference.Group), reference.Id);
        foreach (StreamId id in removals.Entries) Delete(cmd, key, id);
    }

    /// <summary>XACK: a deleted entry is no longer pending.</summary>
    internal static void Forget(scoped in CommandContext cmd, int key, int group, in StreamId id) =>
        cmd.Effect("XACK"u8, 4).Argument(cmd[key]).Argument(cmd[group]).Argument(id);

    private static EffectArguments Argument(this EffectArguments effect, in StreamId id)
    {
        if (!effect.IsRecording) return effect;
        Span<byte> text = stackalloc byte[StreamId.TextMax];
        return effect.Argument(text[..id.Format(text)]);
    }
}
