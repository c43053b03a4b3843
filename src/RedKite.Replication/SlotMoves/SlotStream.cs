using System.Buffers;
using System.Globalization;
using System.Text;
using RedKite.Server.Changes;
using RedKite.Store.Keyspace;

namespace RedKite.Server.SlotMoves;

/// <summary>
/// The effects on some slots, as commands in the protocol's form, from the moment of the snapshot on until they are sent to the slots' next node. They are appended with stripes locked, in chunks of a fixed size; a unit
/// stays a unit. What waits is bounded: beyond that nothing more is kept, and the move fails.
/// </summary>
internal sealed class SlotStream(SlotSet slots, long bytesMax) : IEffectConsumer
{
    private const int ChunkBytes = 64 * 1024;

    private readonly Lock _lock = new();
    private readonly Queue<byte[]> _chunks = new(); // full ones
    private byte[] _last = ArrayPool<byte>.Shared.Rent(ChunkBytes);
    private int _used;
    private long _appended;
    private long _taken;
    private volatile bool _isOver;
    private int _database = -1; // of the next command; none: what was sent before it was of any

    public bool TakesRequests => true;

    /// <summary>Bytes that are kept and were not taken.</summary>
    internal long WaitingBytes
    {
        get
        {
            lock (_lock) return _appended - _taken;
        }
    }

    /// <summary>Whether more waited than may.</summary>
    internal bool IsOver => _isOver;

    public void Published(scoped in EffectRecord record)
    {
        int count = 0;
        for (int i = 0; i < record.Count; i++)
        {
            if (Takes(record[i])) count++;
        }

        if (count == 0) return;
        lock (_lock)
        {
            bool begins = count > 1;
            for (int i = 0; i < record.Count; i++)
            {
                EffectCommand command = record[i];
                if (!Takes(command)) continue;
                Select(command.Database);
                if (begins) Append("*1\r\n$5\r\nMULTI\r\n"u8);
                begins = false;
                foreach (ReadOnlySpan<byte> piece in command) Append(piece);
            }

            if (count > 1) Append("*1\r\n$4\r\nEXEC\r\n"u8);
        }
    }

    public void PublishedRequests(int database, int slot, ReadOnlySpan<byte> requests)
    {
        if (slot < 0 || !slots.Contains(slot)) return;
        lock (_lock)
        {
            Select(database);
            Append(requests);
        }
    }

    /// <summary>Takes the next bytes, if there are any.</summary>
    /// <param name="chunk">Receives them, to be given back with <see cref="Return"/>.</param>
    /// <returns>How many.</returns>
    internal int Take(out byte[] chunk)
    {
        lock (_lock)
        {
            int bytes;
            if (_chunks.TryDequeue(out byte[]? full))
            {
                (chunk, bytes) = (full, ChunkBytes);
            }
            else
            {
                (chunk, bytes) = (_last, _used);
                if (bytes > 0) (_last, _used) = (ArrayPool<byte>.Shared.Rent(ChunkBytes), 0);
            }

            _taken += bytes;
            return bytes;
        }
    }

    internal static void Return(byte[] chunk) => ArrayPool<byte>.Shared.Return(chunk);

    private bool Takes(in EffectCommand command) => command.Slot >= 0 && (command.Targets & EffectTargets.Replicas) != 0 && slots.Contains(command.Slot);

    private void Select(int database)
    {
        if (database == _database) return;
        _database = database;
        string index = database.ToString(CultureInfo.InvariantCulture);
        Append(Encoding.ASCII.GetBytes($"*2\r\n$6\r\nSELECT\r\n${index.Length}\r\n{index}\r\n"));
    }

    private void Append(ReadOnlySpan<byte> bytes)
    {
        if (_isOver || _appended - _taken + bytes.Length > bytesMax)
        {
            _isOver = true;
            return;
        }

        _appended += bytes.Length;
        while (!bytes.IsEmpty)
        {
            if (_used == ChunkBytes)
            {
                _chunks.Enqueue(_last);
                (_last, _used) = (ArrayPool<byte>.Shared.Rent(ChunkBytes), 0);
            }

            int length = Math.Min(bytes.Length, ChunkBytes - _used);
            bytes[..length].CopyTo(_last.AsSpan(_used));
            _used += length;
            bytes = bytes[length..];
        }
    }
}
