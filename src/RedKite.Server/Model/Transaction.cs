using RedKite.Scripting;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>The commands that a client has queued since MULTI.</summary>
internal sealed class Transaction
{
    private readonly List<SavedRequest> _commands = [];

    internal IReadOnlyList<SavedRequest> Commands => _commands;

    /// <summary>Bytes of the commands' arguments.</summary>
    internal long Bytes { get; private set; }

    /// <summary>Memory of the commands, roughly.</summary>
    internal long KeptBytes { get; private set; }

    /// <summary>The stripes that its commands use.</summary>
    internal StripeSet Stripes { get; private set; }

    /// <summary>
    /// The flags of all of its commands together, as they were queued: a script's or function's flags count as well, although they
    /// may change until EXEC.
    /// </summary>
    internal CommandFlags Flags { get; private set; }

    /// <summary>Whether all of its commands may be executed on a replica whose data is stale.</summary>
    internal bool AllowsStale { get; private set; } = true;

    /// <summary>Whether a command was refused instead of being queued, so that EXEC refuses all.</summary>
    internal bool IsAborted { get; private set; }

    internal void Abort() => IsAborted = true;

    /// <summary>Queues a command.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="stripes">The stripes that it uses.</param>
    internal void Queue(scoped in CommandContext cmd, StripeSet stripes)
    {
        SavedRequest request = SavedRequest.Of(cmd);
        _commands.Add(request);
        Bytes += request.Input.Length;
        KeptBytes += request.KeptBytes;
        Stripes = Stripes.With(stripes);
        CommandFlags flags = request.Command.Flags;
        if (request.Command.OnlyReads?.Invoke(cmd) == true) flags &= ~CommandFlags.PausedAsWrite;
        Flags |= flags;
        if (request.Command.ScriptFlagsOf?.Invoke(cmd) is { } stated && (stated & ScriptFlags.NoWrites) == 0) Flags |= CommandFlags.Write;
        AllowsStale &= (flags & CommandFlags.Stale) != 0;
        if (cmd.Command.ExcludesScripts?.Invoke(cmd) == true) Flags |= CommandFlags.RunsScript;
        if (cmd.Command.NeedsMemory?.Invoke(cmd) == true) Flags |= CommandFlags.DenyOom;
    }
}
