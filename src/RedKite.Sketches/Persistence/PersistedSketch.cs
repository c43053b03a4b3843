using System.Buffers.Binary;
using RedKite.Persistence.Rdb;
using RedKite.Persistence.Types;
using RedKite.Sketches.Store;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;

namespace RedKite.Sketches.Persistence;

/// <summary>Whether the numbers of a sketch, which came from outside, fit each other and its parts.</summary>
internal delegate bool SketchCheck(Sketch sketch);

/// <summary>
/// A type of sketch in files, payloads and digests, in RedKite's own form: the layouts of RedisBloom are not documented.
/// <code>
/// numbers of the sketch, number of parts; for each part: its bytes, whether they are one block, its numbers, then the pages that are not zero,
/// each its number and 1 and its bytes, and 0
/// </code>
/// </summary>
internal sealed class PersistedSketch(SketchType type, string moduleName, SketchCheck isValid, string infoCommand, int countAt) : PersistedType(type)
{
    private readonly SketchType _type = type;

    internal override ulong ModuleId { get; } = RdbModule.IdOf(moduleName);

    // What its INFO has: names and numbers.
    internal override ReadingCommands? Reading { get; } = new(infoCommand, (key, _, _) => [infoCommand, key], CountAt: countAt);

    internal override RdbValueSteps NewSteps() => new Steps(ModuleId);

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        Sketch sketch = Sketch.Create(target.Database, target.Key, target.Hash, _type, target.AccessClock);
        for (int i = 0; i < SketchData.NumberCount; i++)
        {
            if (!RdbModule.TryUnsigned(ref input, out ulong number)) return false;
            sketch.Number(i) = number;
        }

        if (!RdbModule.TryUnsigned(ref input, out ulong parts)) return false;
        long left = SketchLimits.BytesMax;
        for (ulong i = 0; i < parts; i++)
        {
            if (!TryReadPart(ref input, sketch, scratch.First, ref left)) return false;
        }

        return isValid(sketch) && RdbModule.TryEnd(ref input);
    }

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Span<byte> number = stackalloc byte[sizeof(ulong)];
        Sketch sketch = Sketch.Of(database, entry);
        if (position.Next == 0)
        {
            for (int i = 0; i < SketchData.NumberCount; i++) Mix(digest, number, sketch.Number(i));
        }

        for (int part = (int)(position.Next >> 32); part < sketch.PartCount; part++, position.Next = (ulong)part << 32)
        {
            int page = (int)(position.Next & uint.MaxValue);
            if (page == 0)
            {
                Mix(digest, number, (ulong)sketch.PartBytes(part));
                for (int i = 0; i < SketchPart.NumberCount; i++) Mix(digest, number, sketch.PartNumber(part, i));
            }

            for (; page < sketch.PageCount(part); page++)
            {
                ReadOnlySpan<byte> bytes = sketch.Page(part, page);
                bool isZero = bytes.IndexOfAnyExcept((byte)0) < 0; // a page that is missing elsewhere
                if (!isZero)
                {
                    Mix(digest, number, (ulong)page + 1);
                    digest.Mix(bytes);
                }

                position.Next = ((ulong)part << 32) | (uint)(page + 1);
                if (left.Take(bytes.Length)) return part == sketch.PartCount - 1 && page == sketch.PageCount(part) - 1;
            }
        }

        return true;
    }

    private static void Mix(DatasetDigest digest, Span<byte> bytes, ulong number)
    {
        BinaryPrimitives.WriteUInt64BigEndian(bytes, number);
        digest.Mix(bytes);
    }

    private static bool TryReadPart(ref RdbInput input, Sketch sketch, NativeBuffer scratch, ref long left)
    {
        if (!RdbModule.TryUnsigned(ref input, out ulong bytes) || !RdbModule.TryUnsigned(ref input, out ulong isWhole) || bytes > (ulong)left || isWhole > 1) return false;
        if (isWhole == 1 && bytes > int.MaxValue) return false;
        left -= (long)bytes;
        sketch.AddPart((long)bytes, isWhole == 1);
        int part = sketch.PartCount - 1;
        for (int i = 0; i < SketchPart.NumberCount; i++)
        {
            if (!RdbModule.TryUnsigned(ref input, out ulong number)) return false;
            sketch.PartNumber(part, i) = number;
        }

        while (RdbModule.TryUnsigned(ref input, out ulong page))
        {
            if (page == 0) return true;
            if (page > (ulong)sketch.PageCount(part) || !RdbModule.TryString(ref input, scratch, out ReadOnlySpan<byte> text) || text.Length != sketch.PageLength(part, (int)page - 1)) return false;
            text.CopyTo(sketch.PageToWrite(part, (int)page - 1));
        }

        return false;
    }

    private sealed class Steps(ulong id) : RdbValueSteps
    {
        // Missing pages that one step passes over.
        private const int MissingPerStep = 4096;

        private nint _entry;
        private int _part;
        private int _page;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            _entry = entry.Address;
            (_part, _page) = (-1, 0);
        }

        internal override bool Step(RdbOutput output)
        {
            Sketch sketch = Sketch.OfBlock(_entry);
            if (_part < 0)
            {
                RdbModule.WriteId(output, id);
                for (int i = 0; i < SketchData.NumberCount; i++) RdbModule.WriteUnsigned(output, sketch.Number(i));
                RdbModule.WriteUnsigned(output, (ulong)sketch.PartCount);
                _part = 0;
                return true;
            }

            if (_part == sketch.PartCount)
            {
                RdbModule.WriteEnd(output);
                return false;
            }

            if (_page == 0)
            {
                RdbModule.WriteUnsigned(output, (ulong)sketch.PartBytes(_part));
                RdbModule.WriteUnsigned(output, sketch.IsWhole(_part) ? 1UL : 0);
                for (int i = 0; i < SketchPart.NumberCount; i++) RdbModule.WriteUnsigned(output, sketch.PartNumber(_part, i));
            }

            for (int end = (int)Math.Min(sketch.PageCount(_part), (long)_page + MissingPerStep); _page < end;)
            {
                ReadOnlySpan<byte> page = sketch.Page(_part, _page++);
                if (page.IsEmpty) continue;
                RdbModule.WriteUnsigned(output, (ulong)_page);
                RdbModule.WriteString(output, page);
                break;
            }

            if (_page < sketch.PageCount(_part)) return true;
            RdbModule.WriteUnsigned(output, 0);
            (_part, _page) = (_part + 1, 0);
            return true;
        }
    }
}
