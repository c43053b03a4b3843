using System.Runtime.InteropServices;
using System.Text;
using RedKite.Protocol;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Server.Changes;

/// <summary>
/// Commands for replicas and the log, in the protocol's form, each with the database that it is for. An executor has one writer for the
/// expiries that a command finds, one for the effects that replace its request, and one that collects those of a unit.
/// </summary>
/// <remarks>
/// A command is begun with its number of arguments, its name included, and then exactly those are written. Its bytes are pieces: runs
/// of this writer's chunks, and references to memory that stays as it is until the record is published. So a large argument is
/// copied once, by the consumer. Chunks that a large record needed are dropped after it.
/// <para>While nothing observes effects, nothing is recorded and every call returns at once.</para>
/// </remarks>
internal sealed class EffectWriter
{
    /// <summary>The length from which an argument is referenced where it is instead of copied.</summary>
    internal const int ReferencedBytesMin = 4096;

    private const int FirstChunkBytes = 1024;
    private const int KeptChunkBytes = 64 * 1024;
    private const int ChunkBytesMax = 1024 * 1024; // unless one argument is longer
    private const int KeptCommands = 4096;

    private List<Effect> _effects = [];
    private List<EffectPiece> _pieces = [];
    private byte[] _chunk = [];
    private int _runStart; // in the chunk: behind it are bytes that belong to no piece yet
    private int _used;
    private bool _recording;

    /// <summary>Whether the handler replaced the request: by the commands here, or by none.</summary>
    internal bool ReplacesRequest { get; private set; }

    internal int Count => _effects.Count;

    /// <summary>The length of all commands.</summary>
    internal long Bytes { get; private set; }

    /// <summary>Begins an invocation or a unit.</summary>
    internal void Reset(bool recording)
    {
        _recording = recording;
        if (_effects.Count == 0 && !ReplacesRequest) return;
        if (_effects.Capacity > KeptCommands) _effects = [];
        else _effects.Clear();
        if (_pieces.Capacity > KeptCommands) _pieces = [];
        else _pieces.Clear();
        if (_chunk.Length > KeptChunkBytes) _chunk = [];
        _used = _runStart = 0;
        Bytes = 0;
        ReplacesRequest = false;
    }

    /// <summary>Replaces the request: the commands that follow stand for it, or, if none follows, it has no effect.</summary>
    internal void ReplaceRequest() => ReplacesRequest |= _recording;

    /// <summary>Begins a command.</summary>
    internal EffectWriter Begin(int database, int arguments, ReadOnlySpan<byte> name, EffectTargets targets = EffectTargets.All, int slot = KeySlot.None)
    {
        if (!_recording) return this;
        EndRun();
        _effects.Add(new Effect(database, targets, slot, _pieces.Count));
        Line('*', arguments);
        return Argument(name);
    }

    internal EffectWriter Argument(ReadOnlySpan<byte> value)
    {
        if (!_recording) return this;
        Line('$', value.Length);
        Raw(value);
        Raw("\r\n"u8);
        return this;
    }

    internal EffectWriter Argument(long value)
    {
        if (!_recording) return this;
        Span<byte> digits = stackalloc byte[RespNumber.Int64TextMax];
        return Argument(digits[..RespNumber.Format(value, digits)]);
    }

    internal EffectWriter Argument(string value) => _recording ? Argument(Encoding.Latin1.GetBytes(value)) : this;

    /// <summary>Writes an argument that is in the request's input, without copying it.</summary>
    internal EffectWriter ArgumentOfRequest(int start, int length)
    {
        if (!_recording) return this;
        Line('$', length);
        EndRun();
        AddPiece(new EffectPiece(null, default, start, length));
        Raw("\r\n"u8);
        return this;
    }

    /// <summary>Adds the commands of a writer whose request ends before this record is published.</summary>
    /// <param name="other">The writer.</param>
    /// <param name="request">The input of its request.</param>
    /// <param name="keptRequest">The same input, if it stays as it is until this record is published; otherwise empty.</param>
    /// <param name="targets">Who of those that they are for gets them.</param>
    internal void Append(EffectWriter other, ReadOnlySpan<byte> request, NativeSpan keptRequest, EffectTargets targets = EffectTargets.All)
    {
        other.EndRun();
        for (int i = 0; i < other.Count; i++)
        {
            EffectTargets all = other.TargetsOf(i), reached = (all & EffectTargets.Always) != 0 ? all : all & targets;
            if (reached == EffectTargets.None) continue;
            EndRun();
            _effects.Add(new Effect(other.DatabaseOf(i), reached, other.SlotOf(i), _pieces.Count));
            foreach (EffectPiece piece in other.PiecesOf(i))
            {
                bool isKept = piece.Owner is not null ? piece.Owner != other._chunk : piece.Queued.Length + keptRequest.Length > 0;
                if (piece.Length >= ReferencedBytesMin && isKept)
                {
                    EndRun();
                    AddPiece(piece.Owner is not null || piece.Queued.Length > 0 ? piece : piece with { Queued = keptRequest });
                }
                else
                {
                    Raw(piece.In(request));
                }
            }
        }

        EndRun();
    }

    /// <summary>Completes the last command, so that the record can be read.</summary>
    internal void End() => EndRun();

    internal int DatabaseOf(int index) => _effects[index].Database;

    internal EffectTargets TargetsOf(int index) => _effects[index].Targets;

    internal int SlotOf(int index) => _effects[index].Slot;

    internal long BytesOf(int index) => _effects[index].Bytes;

    internal ReadOnlySpan<EffectPiece> PiecesOf(int index)
    {
        int first = _effects[index].FirstPiece;
        int end = index + 1 < _effects.Count ? _effects[index + 1].FirstPiece : _pieces.Count;
        return CollectionsMarshal.AsSpan(_pieces)[first..end];
    }

    private void Line(char type, int number)
    {
        Span<byte> line = stackalloc byte[RespNumber.Int64TextMax + 3];
        line[0] = (byte)type;
        int length = 1 + RespNumber.Format(number, line[1..]);
        line[length++] = (byte)'\r';
        line[length++] = (byte)'\n';
        Raw(line[..length]);
    }

    private void Raw(ReadOnlySpan<byte> bytes)
    {
        if (_chunk.Length - _used < bytes.Length) NextChunk(bytes.Length);
        bytes.CopyTo(_chunk.AsSpan(_used));
        _used += bytes.Length;
    }

    private void NextChunk(int bytesMin)
    {
        EndRun();
        int length = (int)Math.Clamp(_chunk.Length * 2L, FirstChunkBytes, ChunkBytesMax);
        _chunk = GC.AllocateUninitializedArray<byte>(Math.Max(bytesMin, length));
        _used = _runStart = 0;
    }

    private void EndRun()
    {
        if (_used == _runStart) return;
        AddPiece(new EffectPiece(_chunk, default, _runStart, _used - _runStart));
        _runStart = _used;
    }

    private void AddPiece(in EffectPiece piece)
    {
        _pieces.Add(piece);
        CollectionsMarshal.AsSpan(_effects)[^1].Bytes += piece.Length;
        Bytes += piece.Length;
    }

    private struct Effect(int database, EffectTargets targets, int slot, int firstPiece)
    {
        internal readonly int Database = database;
        internal readonly EffectTargets Targets = targets;
        internal readonly short Slot = (short)slot;
        internal readonly int FirstPiece = firstPiece;
        internal long Bytes;
    }
}

/// <summary>A part of a command's bytes: in an array, in what a transaction keeps, or without both in the request's input.</summary>
internal readonly record struct EffectPiece(byte[]? Owner, NativeSpan Queued, int Start, int Length)
{
    internal ReadOnlySpan<byte> In(ReadOnlySpan<byte> request) =>
        Owner is not null ? Owner.AsSpan(Start, Length) : (Queued.Length > 0 ? Queued.Bytes : request).Slice(Start, Length);
}
