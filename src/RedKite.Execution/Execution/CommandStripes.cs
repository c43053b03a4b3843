using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Execution;

/// <summary>The stripes that a command needs. On the way to them its keys are hashed, and their entries prefetched.</summary>
internal sealed class CommandStripes(ExecutorCore core)
{
    // The hardware prefetches the rest of a long value once its first lines are read in order.
    private const int EntryBytesAhead = 512;
    private const int EntryOverhead = 32; // an entry's header and, where only its value is known, a short key

    private readonly Keyspace _keyspace = core.Keyspace;
    private readonly KeyHashes _hashes = core.Environment.KeyHashes;

    /// <summary>The bytes of one reply of the executor's last batch, on average.</summary>
    internal int ReplyBytes { get; set; }

    /// <summary>The stripes of a command that executes by itself.</summary>
    internal StripeSet Of(scoped in CommandContext cmd, Command command, int requestBytes)
    {
        _hashes.Forget(); // those of a surrounding command, or of one that was refused when it had them
        if (command.Is(CommandFlags.AllStripes) || command.NeedsAllStripes?.Invoke(cmd) == true) return _keyspace.AllStripes;
        StripeSet stripes = command.UsesStripes?.Invoke(cmd) ?? StripeSet.Empty;
        if (command.HasOneKey && command.FirstKey < cmd.Count) return stripes.With(_keyspace.StripeOf(cmd.HashOf(command.FirstKey)));
        int count = 0;
        var keys = new KeyExtraction(command);
        while (keys.MoveNext(cmd))
        {
            count++;
            ulong hash = cmd.HashOf(keys.Argument);
            _hashes.Keep(cmd.Database, keys.Argument, hash);
            stripes = stripes.With(_keyspace.StripeOf(hash));
        }

        if (count > 0) _hashes.PrefetchEntries(mayAdd: command.Is(CommandFlags.Write), EntryBytes(requestBytes, ReplyBytes, count));
        return stripes.IsEmpty && cmd.Session.Connection is null && !command.Is(CommandFlags.WalksStripes) && HasEffectWithoutKeys(command) ? StripeSet.Of(0) : stripes;
    }

    // Of a caller in the process. Who ends the stream for replicas waits for the loops, and then locks all stripes: what is appended behind that would be
    // amid the stream of another primary. A script takes the stripe with the command that it calls.
    private static bool HasEffectWithoutKeys(Command command) =>
        command.Is(CommandFlags.Write | CommandFlags.MayReplicate) || (command.Is(CommandFlags.PausedAsWrite) && !command.Is(CommandFlags.RunsScript));

    /// <summary>The stripes of a command that executes inside another one.</summary>
    internal StripeSet OfNested(scoped in CommandContext cmd) => cmd.Command.Is(CommandFlags.WalksStripes) ? _keyspace.AllStripes : Of(cmd, cmd.Command, cmd.Arguments.Bytes);

    /// <summary>
    /// How much of each entry of a request will probably be read or written. The value's length is in the entry, which is not in
    /// the cache yet. So a written value is assumed to be as long as the request, and a read one as long as the last batch's
    /// replies.
    /// </summary>
    internal static int EntryBytes(int requestBytes, int replyBytes, int keys) => Math.Min((Math.Max(requestBytes, replyBytes) / keys) + EntryOverhead, EntryBytesAhead);
}
