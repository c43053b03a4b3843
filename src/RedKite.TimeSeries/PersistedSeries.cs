using System.Buffers.Binary;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.TimeSeries.Compaction;
using RedKite.TimeSeries.Store;

namespace RedKite.TimeSeries;

/// <summary>
/// Series in files, logs and digests. In files their chunks are as in memory, in a form of RedKite's own: RedisTimeSeries' is not documented. In a log's base a
/// series is a RESTORE.
/// </summary>
internal sealed class PersistedSeries() : PersistedType(SeriesType.Instance)
{
    internal const string ModuleName = "rkt-tseri";

    private const int SettingsBytes = 40;

    [ThreadStatic]
    private static Sample[]? _samples;

    internal override ulong ModuleId { get; } = RdbModule.IdOf(ModuleName);

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        NativeBuffer buffer = scratch.First;
        if (!RdbModule.TryString(ref input, buffer, out ReadOnlySpan<byte> text) || !TrySettings(text, out SeriesSettings settings)) return false;
        Series series = Series.Create(target.Database, target.Key, target.Hash, target.AccessClock, settings);
        if (!RdbModule.TryString(ref input, buffer, out text) || !SeriesLabels.AreValid(text)) return false;
        series.SetLabels(text);
        if (!RdbModule.TryString(ref input, buffer, out text) || !SeriesRules.AreValid(text)) return false;
        series.SetRules(text);
        if (!text.IsEmpty) SeriesRules.NoteExistence();
        if (!RdbModule.TryString(ref input, buffer, out text)) return false;
        series.SetSource(text);
        if (!RdbModule.TryUnsigned(ref input, out ulong pending) || !RdbModule.TryUnsigned(ref input, out ulong value)) return false;
        if (pending > 0) series.SetPending(new Sample(Math.Max(0, (long)(pending - 1)), BitConverter.UInt64BitsToDouble(value)));
        if (!RdbModule.TryUnsigned(ref input, out ulong chunks)) return false;
        for (; chunks > 0; chunks--)
        {
            if (!RdbModule.TryUnsigned(ref input, out ulong bits) || !RdbModule.TryUnsigned(ref input, out ulong count) || !RdbModule.TryUnsigned(ref input, out ulong isCompressed)) return false;
            if (bits > int.MaxValue || count > int.MaxValue || isCompressed > 1 || !RdbModule.TryString(ref input, buffer, out text)) return false;
            if (!series.TryAppendChunk(text, (int)bits, (int)count, isCompressed == 1)) return false;
        }

        return RdbModule.TryEnd(ref input);
    }

    internal override ReadingCommands? Reading { get; } = new("TS.INFO", static (key, elements, _) => ["TS.REVRANGE", key, "-", "+", "COUNT", ReadingCommands.Text(2 * elements)], CountAt: 1);

    // Chunks of one server begin and end elsewhere than those of another, which makes no difference.
    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Series series = Series.Of(database, entry);
        Span<byte> bytes = stackalloc byte[SettingsBytes];
        if (position.Next == 0)
        {
            WriteSettings(bytes, series.Settings);
            digest.Mix(bytes);
            digest.Mix(series.Labels.Bytes);
            digest.Mix(series.Source);
            new SeriesRules(series.Rules).Mix(digest);
        }

        // The position is the first time that is not mixed yet, and 1. What is too old to be seen may have been dropped elsewhere.
        Sample[] samples = _samples ??= new Sample[Chunk.SamplesMax];
        long from = Math.Max(series.OldestTime, (long)position.Next - 1);
        for (int index = series.ChunkFrom(from); index < series.ChunkCount; index++)
        {
            foreach (ref readonly Sample sample in samples.AsSpan(0, series.Read(index, samples)))
            {
                if (sample.Time < from) continue;
                BinaryPrimitives.WriteInt64BigEndian(bytes, sample.Time);
                BinaryPrimitives.WriteDoubleBigEndian(bytes[8..], sample.Value);
                digest.Mix(bytes[..16]);
                position.Next = (ulong)sample.Time + 2;
                if (left.Take(16)) return sample.Time >= series.LastTime;
            }
        }

        return true;
    }

    private static void WriteSettings(Span<byte> bytes, in SeriesSettings settings)
    {
        bytes.Clear();
        BinaryPrimitives.WriteInt64LittleEndian(bytes, settings.Retention);
        BinaryPrimitives.WriteInt64LittleEndian(bytes[8..], settings.IgnoredTime);
        BinaryPrimitives.WriteDoubleLittleEndian(bytes[16..], settings.IgnoredValue);
        BinaryPrimitives.WriteInt32LittleEndian(bytes[24..], settings.ChunkBytes);
        bytes[28] = settings.IsCompressed ? (byte)1 : (byte)0;
        bytes[29] = (byte)settings.Policy;
    }

    private static bool TrySettings(ReadOnlySpan<byte> bytes, out SeriesSettings settings)
    {
        settings = default;
        if (bytes.Length != SettingsBytes || bytes[28] > 1) return false;
        settings = new SeriesSettings
        {
            Retention = BinaryPrimitives.ReadInt64LittleEndian(bytes),
            IgnoredTime = BinaryPrimitives.ReadInt64LittleEndian(bytes[8..]),
            IgnoredValue = BinaryPrimitives.ReadDoubleLittleEndian(bytes[16..]),
            ChunkBytes = BinaryPrimitives.ReadInt32LittleEndian(bytes[24..]),
            IsCompressed = bytes[28] == 1,
            Policy = (DuplicatePolicy)bytes[29],
        };
        return settings.IsValid();
    }

    private sealed class Steps : RdbValueSteps
    {
        private nint _entry;
        private int _next;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            _entry = entry.Address;
            _next = -1;
        }

        internal override bool Step(RdbOutput output)
        {
            Series series = Series.OfBlock(_entry);
            if (_next < 0)
            {
                Span<byte> settings = stackalloc byte[SettingsBytes];
                WriteSettings(settings, series.Settings);
                RdbModule.WriteId(output, RdbModule.IdOf(ModuleName));
                RdbModule.WriteString(output, settings);
                RdbModule.WriteString(output, series.Labels.Bytes);
                RdbModule.WriteString(output, series.Rules);
                RdbModule.WriteString(output, series.Source);
                Sample pending = series.Pending;
                RdbModule.WriteUnsigned(output, pending.Time < 0 ? 0 : (ulong)pending.Time + 1);
                RdbModule.WriteUnsigned(output, BitConverter.DoubleToUInt64Bits(pending.Value));
                RdbModule.WriteUnsigned(output, (ulong)series.ChunkCount);
                _next = 0;
                return true;
            }

            if (_next < series.ChunkCount)
            {
                ReadOnlySpan<byte> bytes = series.ChunkBytes(_next++, out int bits, out int count, out bool isCompressed);
                RdbModule.WriteUnsigned(output, (ulong)bits);
                RdbModule.WriteUnsigned(output, (ulong)count);
                RdbModule.WriteUnsigned(output, isCompressed ? 1UL : 0);
                RdbModule.WriteString(output, bytes);
                return true;
            }

            RdbModule.WriteEnd(output);
            return false;
        }
    }
}
