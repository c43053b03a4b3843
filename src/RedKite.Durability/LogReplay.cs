using System.Buffers;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Files;
using RedKite.Server.Model;

namespace RedKite.Server.Durability;

/// <summary>
/// Executes whole requests in the protocol's form, which may be changed, and discards their replies. Nothing expires for them.
/// </summary>
/// <returns>How many bytes were executed.</returns>
internal delegate int RequestReplay(Span<byte> requests);

/// <summary>
/// Executes the commands of an append-only file in their order, for a client for which nothing expires. Only whole units are
/// executed: of a MULTI without its EXEC, nothing. MULTI and EXEC themselves are left out, because no client sees what is between them.
/// </summary>
/// <param name="execute">Executes requests.</param>
/// <param name="commands">The commands that there are.</param>
/// <param name="unitBytesMax">Of a longer unit the end is looked for first, so that it need not be kept in memory.</param>
internal sealed class LogReplay(RequestReplay execute, CommandTable commands, int unitBytesMax = 64 * 1024 * 1024)
{
    private const int BatchBytes = 256 * 1024;
    private const int KeptBytesMax = 16 * BatchBytes;
    private const int NameBytesShown = 64;

    private ArrayBufferWriter<byte> _batch = new(BatchBytes);
    private int _wholeBytes; // of the batch, up to the end of the last whole unit

    // What is known of the unit that is being read.
    private enum Unit
    {
        None,
        Open,
        Whole,
        Cut,
    }

    /// <summary>The commands that were read.</summary>
    internal long Commands { get; private set; }

    /// <summary>Executes the rest of a file.</summary>
    /// <param name="file">The file.</param>
    /// <param name="reader">At the first command.</param>
    /// <param name="progress">Receives the reader's position.</param>
    /// <param name="cancellation">Ends the replay early.</param>
    /// <param name="ignored">Called with the place of each MULTI or EXEC that is ignored because no other is around it, and what is wrong with it.</param>
    /// <returns>How the file ends.</returns>
    /// <exception cref="AofException">It is damaged, or has a command that is unknown or is refused.</exception>
    internal AofRead Execute(IOpenFile file, AofReader reader, Action<long> progress, CancellationToken cancellation, Action<long, string>? ignored = null)
    {
        Unit unit = Unit.None;
        while (true)
        {
            AofRead read = reader.Read();
            if (read is AofRead.End or AofRead.Truncated)
            {
                ExecuteWhole(file, reader);
                progress(reader.UnitEnd);
                return read;
            }

            if (read != AofRead.Command) continue;
            if (reader.Stray is { } stray)
            {
                ignored?.Invoke(reader.Start, stray);
                continue;
            }

            if (reader.IsFrame) unit = reader.InUnit ? Unit.Open : EndUnit();
            else if (unit == Unit.Open && _batch.WrittenCount - _wholeBytes + (long)reader.Raw.Length > unitBytesMax) unit = LookAhead(file, reader);
            if (!reader.IsFrame && unit != Unit.Cut) Add(file, reader, isWhole: unit != Unit.Open);
            if (_wholeBytes < BatchBytes) continue;
            cancellation.ThrowIfCancellationRequested();
            ExecuteWhole(file, reader);
            progress(reader.UnitEnd);
        }
    }

    private Unit EndUnit()
    {
        _wholeBytes = _batch.WrittenCount;
        return Unit.None;
    }

    // Whether the file has the end of the unit that is being read.
    private static Unit LookAhead(IOpenFile file, AofReader reader)
    {
        using var ahead = new AofReader(file, reader.UnitEnd);
        while (ahead.Read() is AofRead.Command or AofRead.Timestamp)
        {
            if (ahead.IsFrame && !ahead.InUnit) return Unit.Whole;
        }

        return Unit.Cut;
    }

    private void Add(IOpenFile file, AofReader reader, bool isWhole)
    {
        if (commands.Find(reader[0]) is null) throw AofException.AtByte(file.Path, reader.Start, $"unknown command '{Encoding.Latin1.GetString(reader[0][..Math.Min(NameBytesShown, reader[0].Length)])}'");
        Commands++;
        if (isWhole && reader.Raw.Length >= BatchBytes)
        {
            _wholeBytes = _batch.WrittenCount;
            ExecuteWhole(file, reader);
            Execute(file, reader, reader.Raw);
            return;
        }

        _batch.Write(reader.Raw);
        if (isWhole) _wholeBytes = _batch.WrittenCount;
    }

    private void ExecuteWhole(IOpenFile file, AofReader reader)
    {
        if (_wholeBytes > 0) Execute(file, reader, MemoryMarshal.AsMemory(_batch.WrittenMemory).Span[.._wholeBytes]);
        _wholeBytes = 0;
        if (_batch.Capacity > KeptBytesMax) _batch = new ArrayBufferWriter<byte>(BatchBytes);
        else _batch.ResetWrittenCount();
    }

    private void Execute(IOpenFile file, AofReader reader, Span<byte> requests)
    {
        if (execute(requests) < requests.Length) throw AofException.AtByte(file.Path, reader.Start, "a command before this is none that a log has");
    }
}
