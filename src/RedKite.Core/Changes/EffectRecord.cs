using RedKite.Persistence.Log;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Changes;

/// <summary>
/// What one invocation or one unit (a transaction, a script) did, as commands for replicas and the log. They belong together: nothing
/// else may come between them, and a reader applies all or none. Valid during the call that passes it.
/// </summary>
/// <remarks>
/// The expiries that a command found come before the command. All lengths are known before any byte is copied.
/// </remarks>
internal readonly ref struct EffectRecord
{
    private readonly EffectWriter _first;
    private readonly EffectWriter? _second;
    private readonly ReadOnlySpan<byte> _request;

    /// <param name="first">The first commands.</param>
    /// <param name="second">Those after them.</param>
    /// <param name="request">The input of the request, which pieces may reference.</param>
    internal EffectRecord(EffectWriter first, EffectWriter? second, ReadOnlySpan<byte> request)
    {
        first.End();
        second?.End();
        _first = first;
        _second = second;
        _request = request;
    }

    /// <summary>The number of commands; at least one.</summary>
    internal int Count => _first.Count + (_second?.Count ?? 0);

    /// <summary>The length of all commands in the protocol's form, without a frame and without SELECT.</summary>
    internal long Bytes => _first.Bytes + (_second?.Bytes ?? 0);

    /// <summary>The slot of all commands; <see cref="KeySlot.None"/> if they have several or none, or the keyspace has no slots.</summary>
    internal int Slot
    {
        get
        {
            int slot = this[0].Slot;
            for (int i = 1; i < Count; i++)
            {
                if (this[i].Slot != slot) return KeySlot.None;
            }

            return slot;
        }
    }

    /// <summary>Whether a stream frames the commands with MULTI and EXEC, so that they stay together. For tests.</summary>
    internal bool IsFramed => Count > 1;

    internal EffectCommand this[int index] =>
        index < _first.Count ? new EffectCommand(_first, index, _request) : new EffectCommand(_second!, index - _first.Count, _request);

    private static ReadOnlySpan<byte> Multi => "*1\r\n$5\r\nMULTI\r\n"u8;

    private static ReadOnlySpan<byte> Exec => "*1\r\n$4\r\nEXEC\r\n"u8;

    /// <summary>Appends the commands that are for some targets as one record: several in a frame of MULTI and EXEC, with SELECT where the database changes.</summary>
    /// <param name="chain">The log or the stream.</param>
    /// <param name="targets">For whom.</param>
    /// <param name="bytes">The record's length; 0: no command is for them.</param>
    /// <returns>The end of the record.</returns>
    internal long AppendTo(LogChain chain, EffectTargets targets, out long bytes)
    {
        int commands = 0, first = 0, last = 0;
        bytes = 0;
        for (int i = 0; i < Count; i++)
        {
            EffectCommand command = this[i];
            if ((command.Targets & targets) == 0) continue;
            if (commands++ == 0) first = command.Database;
            else if (command.Database != last) bytes += SelectCommand.Length(command.Database);
            last = command.Database;
            bytes += command.Bytes;
        }

        if (commands == 0) return 0;
        if (commands > 1) bytes += Multi.Length + Exec.Length;
        LogAppender appender = chain.Begin(bytes, first, last);
        if (commands > 1) appender.Append(Multi);
        last = first; // SELECT of the first is part of the chain
        Span<byte> select = stackalloc byte[SelectCommand.LengthMax];
        for (int i = 0; i < Count; i++)
        {
            EffectCommand command = this[i];
            if ((command.Targets & targets) == 0) continue;
            if (command.Database != last) appender.Append(select[..SelectCommand.Format(last = command.Database, select)]);
            foreach (ReadOnlySpan<byte> piece in command) appender.Append(piece);
        }

        if (commands > 1) appender.Append(Exec);
        return appender.End();
    }
}

/// <summary>Who gets a command.</summary>
[Flags]
internal enum EffectTargets : byte
{
    None = 0,
    Log = 1,
    Replicas = 2,
    All = Log | Replicas,

    /// <summary>With the others: whatever a script chooses.</summary>
    Always = 4,
}

/// <summary>A command of an <see cref="EffectRecord"/>: enumerating it gives the parts of its request in the protocol's form.</summary>
internal readonly ref struct EffectCommand(EffectWriter writer, int index, ReadOnlySpan<byte> request)
{
    private readonly ReadOnlySpan<byte> _request = request;

    /// <summary>The index of the database that the command is for.</summary>
    internal int Database => writer.DatabaseOf(index);

    /// <summary>The slot of its first key; <see cref="KeySlot.None"/> if it has none, or the keyspace has no slots.</summary>
    internal int Slot => writer.SlotOf(index);

    /// <summary>Who gets the command: a message is for replicas, and a script may choose.</summary>
    internal EffectTargets Targets => writer.TargetsOf(index);

    /// <summary>The length of the command in the protocol's form.</summary>
    internal long Bytes => writer.BytesOf(index);

    public Enumerator GetEnumerator() => new(writer.PiecesOf(index), _request);

    internal ref struct Enumerator(ReadOnlySpan<EffectPiece> pieces, ReadOnlySpan<byte> request)
    {
        private readonly ReadOnlySpan<EffectPiece> _pieces = pieces;
        private readonly ReadOnlySpan<byte> _request = request;
        private int _next;

        public readonly ReadOnlySpan<byte> Current => _pieces[_next - 1].In(_request);

        public bool MoveNext() => _next++ < _pieces.Length;
    }
}
