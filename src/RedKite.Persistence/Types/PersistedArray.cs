using System.Buffers.Text;
using System.Globalization;
using RedKite.Persistence.Aof;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.Store.Values;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Packed;

namespace RedKite.Persistence.Types;

/// <summary>Arrays in files, logs and digests: see <see cref="PersistedType"/>. An array whose ring was changed by other commands is no command's result.</summary>
internal sealed class PersistedArray() : PersistedType(StoredTypes.Of(DataType.Array))
{
    internal override ulong ModuleId => RdbModule.Array;

    internal override RdbValueSteps NewSteps() => new Steps();

    internal override bool TryRead(RdbType form, ref RdbInput input, in RdbTarget target, RdbScratch scratch) => RdbArrayReader.TryRead(ref input, target, scratch);

    internal override bool TryWriteCommands(CommandOutput output, Database database, Entry entry)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        ArrayValue array = ArrayValue.Of(database, entry);
        if (!IsOfCommands(array)) return false;
        bool isRing = array.Ring != 0;
        ulong next = isRing ? array.Next - 1 : array.Next;
        long count = isRing ? array.Count - 1 : array.Count;
        ArrayCursor elements = array.Between(0, ArrayData.IndexMax);
        long written = 0;
        while (elements.MoveNext())
        {
            if (isRing && elements.Index == next) continue;
            output.BeginElements("ARMSET"u8, entry.Key, written, count - written, each: 2);
            written++;
            output.Index(elements.Index).Argument(elements.Element.Bytes(digits));
        }

        if (next != 0) output.Begin("ARSEEK"u8, 2).Argument(entry.Key).Index(next);
        if (isRing && array.TryGet(next, out PackedElement last)) output.Begin("ARRING"u8, 3).Argument(entry.Key).Index(array.Ring).Argument(last.Bytes(digits));
        return true;
    }

    internal override ReadingCommands? Reading { get; } = new("ARCOUNT", static (key, elements, _) => ["ARSCAN", key, "0", ArrayData.IndexMax.ToString(CultureInfo.InvariantCulture), "LIMIT", ReadingCommands.Text(elements)]);

    internal override void MixType(DatasetDigest digest) => digest.MixNumber((int)DataType.Array);

    internal override bool MixValue(DatasetDigest digest, Database database, Entry entry, ExpiryClock expiry, scoped ref DatasetDigest.ValuePosition position, DatasetDigest.WorkLeft left)
    {
        Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
        ArrayCursor elements = ArrayValue.Of(database, entry).Between(position.Next, ArrayData.IndexMax);
        while (elements.MoveNext())
        {
            Utf8Formatter.TryFormat(elements.Index, digits, out int length);
            digest.Mix(digits[..length]);
            ReadOnlySpan<byte> element = elements.Element.Bytes(digits);
            digest.Mix(element);
            if (elements.Index == ArrayData.IndexMax) return true;
            position.Next = elements.Index + 1;
            if (left.Take(element.Length)) return false;
        }

        return true;
    }

    // Whether the last insertion in the ring, if there is one, can be made again.
    private static bool IsOfCommands(ArrayValue array)
    {
        if (array.Ring == 0) return true;
        ulong next = array.Next;
        return next > 0 && next <= array.Ring && array.Length <= array.Ring && array.TryGet(next - 1, out _) && (next == 1 || array.Count > 1);
    }

    // In the form of RdbArrayReader.
    private sealed class Steps : RdbValueSteps
    {
        private ArrayCursor _elements;
        private ulong _nextIndex; // the lowest one that the next element may have
        private (ulong Next, ulong Ring) _state;
        private bool _begun;

        internal override void Begin(RdbType form, Database database, Entry entry, ExpiryClock expiry, NativeBuffer scratch)
        {
            ArrayValue array = ArrayValue.Of(database, entry);
            _elements = array.Between(0, ArrayData.IndexMax);
            _state = (array.Next, array.Ring);
            _nextIndex = 0;
            _begun = false;
        }

        internal override bool Step(RdbOutput output)
        {
            if (!_begun)
            {
                _begun = true;
                output.Length(RdbModule.Array);
                RdbModule.WriteUnsigned(output, _state.Next);
                RdbModule.WriteUnsigned(output, _state.Ring);
                return true;
            }

            if (!_elements.MoveNext())
            {
                RdbModule.WriteEnd(output);
                return false;
            }

            RdbModule.WriteUnsigned(output, _elements.Index - _nextIndex);
            _nextIndex = _elements.Index + 1;
            RdbModule.WriteString(output, _elements.Element.Bytes(stackalloc byte[CanonicalInteger.TextBytesMax]));
            return true;
        }
    }
}
