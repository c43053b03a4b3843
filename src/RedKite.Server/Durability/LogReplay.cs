using System.Buffers;
using System.Runtime.InteropServices;
using System.Text;
using RedKite.Persistence.Aof;
using RedKite.Server.Model;

namespace RedKite.Server.Durability;

/// <summary>Executes whole requests in the protocol's form, which may be changed, and discards their replies. Nothing expires for them.</summary>
internal delegate void RequestReplay(Span<byte> requests);

/// <summary>
/// Executes the commands of an append-only file in their order, for a client for which nothing expires. Only whole units are
/// executed: of a MULTI without its EXEC, nothing.
/// </summary>
internal sealed class LogReplay(RequestReplay execute, CommandTable commands)
{
    private const int BatchBytes = 256 * 1024;

    private readonly ArrayBufferWriter<byte> _batch = new(BatchBytes);
    private int _wholeBytes; // of the batch, up to the end of the last whole unit

    /// <summary>The commands that were executed.</summary>
    internal long Commands { get; private set; }

    /// <summary>Executes the rest of a file.</summary>
    /// <param name="path">Its path, for errors.</param>
    /// <param name="reader">At the first command.</param>
    /// <param name="progress">Receives the reader's position.</param>
    /// <param name="cancellation">Ends the replay early.</param>
    /// <returns>How the file ends.</returns>
    /// <exception cref="AofException">It is damaged, or has an unknown command.</exception>
    internal AofRead Execute(string path, AofReader reader, Action<long> progress, CancellationToken cancellation)
    {
        while (true)
        {
            AofRead read = reader.Read();
            if (read is AofRead.End or AofRead.Truncated)
            {
                ExecuteWhole();
                progress(reader.UnitEnd);
                return read;
            }

            if (read != AofRead.Command) continue;
            if (commands.Find(reader[0]) is null) throw AofException.AtByte(path, reader.Start, $"unknown command '{Encoding.Latin1.GetString(reader[0][..Math.Min(64, reader[0].Length)])}'");
            _batch.Write(reader.Raw);
            Commands++;
            if (reader.InUnit) continue;
            _wholeBytes = _batch.WrittenCount;
            if (_wholeBytes < BatchBytes) continue;
            cancellation.ThrowIfCancellationRequested();
            ExecuteWhole();
            progress(reader.UnitEnd);
        }
    }

    private void ExecuteWhole()
    {
        if (_wholeBytes > 0) execute(MemoryMarshal.AsMemory(_batch.WrittenMemory).Span[.._wholeBytes]);
        if (_batch.Capacity > 16 * BatchBytes) _batch.Clear();
        _batch.ResetWrittenCount();
        _wholeBytes = 0;
    }
}
