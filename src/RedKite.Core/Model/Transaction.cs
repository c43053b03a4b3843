using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using RedKite.Protocol;
using RedKite.Scripting;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Model;

/// <summary>
/// The commands that a client has queued since MULTI. A client may queue millions, so they are one record each outside the managed heap,
/// and their memory is released at once when the transaction ends:
/// <code>
/// head | slices of the arguments | their bytes
/// </code>
/// </summary>
internal sealed class Transaction : IDisposable
{
    private const int ObjectBytes = 256; // this object, and the lists of rows and chunks

    private readonly NativeRecords _records = new();
    private readonly List<Command> _rows = []; // each of the commands' once

    /// <summary>The number of commands. From any thread.</summary>
    internal int Count => _records.Count;

    /// <summary>The commands, in their order. The transaction does not change meanwhile.</summary>
    internal QueuedCommands Commands => new(this);

    /// <summary>Bytes of the commands' arguments.</summary>
    internal long Bytes { get; private set; }

    /// <summary>Memory of the commands.</summary>
    internal long KeptBytes => _records.MemoryBytes + ObjectBytes;

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
        Keep(cmd);
        Stripes = Stripes.With(stripes);
        CommandFlags flags = cmd.Command.Flags;
        if (cmd.Command.OnlyReads?.Invoke(cmd) == true) flags &= ~CommandFlags.PausedAsWrite;
        Flags |= flags;
        if (cmd.Command.ScriptFlagsOf?.Invoke(cmd) is { } stated && (stated & ScriptFlags.NoWrites) == 0) Flags |= CommandFlags.Write;
        AllowsStale &= (flags & CommandFlags.Stale) != 0;
        if (cmd.Command.ExcludesScripts?.Invoke(cmd) == true) Flags |= CommandFlags.RunsScript;
        if (cmd.Command.NeedsMemory?.Invoke(cmd) == true) Flags |= CommandFlags.DenyOom;
    }

    public void Dispose() => _records.Dispose();

    private void Keep(scoped in CommandContext cmd)
    {
        int bytes = 0;
        for (int i = 0; i < cmd.Count; i++) bytes += cmd[i].Length;
        var head = new Head
        {
            FirstKeyHash = cmd.Command.FirstKey > 0 && cmd.Command.FirstKey < cmd.Count ? cmd.HashOf(cmd.Command.FirstKey) : 0,
            Row = RowOf(cmd.Command),
            DatabaseIndex = cmd.Database.Index,
            ArgumentCount = cmd.Count,
        };
        int slicesBytes = cmd.Count * Unsafe.SizeOf<ArgumentSlice>();
        Span<byte> record = _records.Add(checked(Unsafe.SizeOf<Head>() + slicesBytes + bytes));
        MemoryMarshal.Write(record, head);
        record = record[Unsafe.SizeOf<Head>()..];
        Span<ArgumentSlice> slices = MemoryMarshal.Cast<byte, ArgumentSlice>(record[..slicesBytes]);
        record = record[slicesBytes..];
        int at = 0;
        for (int i = 0; i < slices.Length; i++)
        {
            cmd[i].CopyTo(record[at..]);
            slices[i] = new ArgumentSlice(at, cmd[i].Length);
            at += cmd[i].Length;
        }

        Bytes += bytes;
    }

    // Most transactions have few rows, and the same one often follows itself.
    private int RowOf(Command command)
    {
        int row = _rows.LastIndexOf(command);
        if (row >= 0) return row;
        _rows.Add(command);
        return _rows.Count - 1;
    }

    [StructLayout(LayoutKind.Sequential, Size = 24)] // so that the slices begin at a multiple of eight
    private struct Head
    {
        internal ulong FirstKeyHash;
        internal int Row;
        internal int DatabaseIndex;
        internal int ArgumentCount;
    }

    /// <summary>The commands of a transaction, to go over them.</summary>
    internal readonly ref struct QueuedCommands(Transaction transaction)
    {
        public Enumerator GetEnumerator() => new(transaction);

        internal ref struct Enumerator(Transaction transaction)
        {
            private NativeRecords.Enumerator _records = transaction._records.GetEnumerator();

            public readonly QueuedCommand Current
            {
                get
                {
                    Span<byte> record = _records.Current;
                    Head head = MemoryMarshal.Read<Head>(record);
                    record = record[Unsafe.SizeOf<Head>()..];
                    int slicesBytes = head.ArgumentCount * Unsafe.SizeOf<ArgumentSlice>();
                    return new QueuedCommand(transaction._rows[head.Row], head.DatabaseIndex, head.FirstKeyHash, record[slicesBytes..], MemoryMarshal.Cast<byte, ArgumentSlice>(record[..slicesBytes]));
                }
            }

            public bool MoveNext() => _records.MoveNext();
        }
    }
}

/// <summary>A command that EXEC executes. Valid until its transaction ends.</summary>
internal readonly ref struct QueuedCommand(Command command, int databaseIndex, ulong firstKeyHash, Span<byte> input, ReadOnlySpan<ArgumentSlice> arguments)
{
    internal Command Command { get; } = command;

    /// <summary>The database that was selected when it was queued.</summary>
    internal int DatabaseIndex { get; } = databaseIndex;

    internal ulong FirstKeyHash { get; } = firstKeyHash;

    /// <summary>The bytes of all arguments, outside the managed heap.</summary>
    internal Span<byte> Input { get; } = input;

    internal ReadOnlySpan<ArgumentSlice> Arguments { get; } = arguments;
}
