using System.Runtime.CompilerServices;
using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Model;

/// <summary>
/// The context of a handler: its arguments, the reply, the client's session and database. Keys that the command's row names are
/// locked. It knows nothing of sockets and locks.
/// </summary>
/// <remarks>
/// What a handler does with it is in extensions, by concept: it reads arguments (<see cref="ArgumentReading"/>), finds keys and writes
/// strings (<see cref="KeyLookup"/>), reports changes (<see cref="ChangeReports"/>), blocks its client (<see cref="CommandBlocking"/>) and
/// replies errors (<see cref="CommonErrors"/>). Families have further ones for their own type, such as <c>SetAccess</c>.
/// </remarks>
internal ref struct CommandContext
{
    private ulong _firstKeyHash;

    /// <param name="environment">What the executor lends.</param>
    /// <param name="session">The client.</param>
    /// <param name="input">The bytes that the arguments are slices of.</param>
    /// <param name="reply">Where the reply goes.</param>
    /// <param name="database">The index of the selected database.</param>
    internal CommandContext(CommandEnvironment environment, Session session, Span<byte> input, ReplyWriter reply, int database)
    {
        Environment = environment;
        Metrics = environment.Metrics;
        Time = environment.Time;
        Accesses = environment.Accesses;
        Recording = environment.Recording;
        Arguments = new ArgumentList(input);
        Session = session;
        Reply = reply;
        Database = environment.Keyspace.Databases[database];
        Command = null!;
    }

    internal ReplyWriter Reply { get; }

    internal Session Session { get; }

    /// <summary>The client's selected database.</summary>
    internal Database Database { get; private set; }

    /// <summary>The row of the command, or of the subcommand, that executes.</summary>
    internal Command Command { get; private set; }

    /// <summary>The request. Handlers read its arguments by the indexer.</summary>
    internal ArgumentList Arguments;

    /// <summary>Number of arguments, the command's name included.</summary>
    internal readonly int Count => Arguments.Count;

    /// <summary>An argument; 0 is the command's name, 1 a container's subcommand.</summary>
    internal readonly ReadOnlySpan<byte> this[int index]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Arguments[index];
    }

    /// <summary>The command's first key.</summary>
    internal readonly ReadOnlySpan<byte> Key
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => this[Command.FirstKey];
    }

    internal readonly Keyspace Keyspace => Environment.Keyspace;

    internal readonly Settings Settings => Environment.Settings;

    /// <summary>The counters that the command increments: keyspace hits and misses and the like.</summary>
    internal ExecutorMetrics Metrics { get; }

    internal CommandTime Time { get; }

    /// <inheritdoc cref="CommandTime.NowMs"/>
    internal readonly long NowMs => Time.NowMs;

    /// <inheritdoc cref="CommandTime.Expiry"/>
    internal readonly ExpiryClock Expiry => Time.Expiry;

    /// <inheritdoc cref="CommandTime.WasAccepted"/>
    internal readonly bool WasAccepted => Time.WasAccepted;

    /// <summary>Whether the command may take memory for its own work (<see cref="ScratchMemory"/>).</summary>
    internal readonly bool MayTakeScratch(long bytes) => WasAccepted || ScratchMemory.HasRoom(bytes);

    internal AccessRecorder Accesses { get; }

    internal InvocationRecording Recording { get; }

    /// <summary>What surrounds the command, for the few handlers that depend on it.</summary>
    internal CommandEnvironment Environment { get; }

    /// <summary>The hash of a key; in most cases it was computed before.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly ulong HashOf(int argument) => argument == Command.FirstKey ? _firstKeyHash : HashOfLaterKey(argument);

    /// <summary>Begins a request in the same input.</summary>
    internal void Begin(Command command, ReadOnlySpan<ArgumentSlice> arguments, ulong firstKeyHash)
    {
        Command = command;
        Arguments.Begin(arguments);
        _firstKeyHash = firstKeyHash;
    }

    /// <summary>Replaces the command by its subcommand, once that is found.</summary>
    internal void Resolve(Command command) => Command = command;

    /// <summary>A request inside this one: the arguments from one on, with their command.</summary>
    internal readonly CommandContext Inner(Command command, int start)
    {
        CommandContext inner = this;
        inner.Begin(command, Arguments.Slices[start..], 0);
        return inner;
    }

    /// <summary>Selects another database for the rest of the session.</summary>
    internal void Select(int index)
    {
        Session.DatabaseIndex = index;
        Database = Keyspace.Databases[index];
    }

    private readonly ulong HashOfLaterKey(int argument)
    {
        ulong known = Environment.KeyHashes.Find(argument);
        return known != 0 ? known : Keyspace.Hash(this[argument]);
    }
}
