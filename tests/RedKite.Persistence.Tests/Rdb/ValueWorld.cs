using System.Globalization;
using System.Text;
using RedKite.Persistence.Rdb;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using RedKite.Store.Values.Arrays;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Lists;
using RedKite.Store.Values.Sets;
using RedKite.Store.Values.SortedSets;
using RedKite.Store.Values.Streams;
using RedKite.Store.Values.VectorSets;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Persistence.Tests.Rdb;

/// <summary>
/// A keyspace on the guarded arena with such small limits that every encoding occurs, and random values of every type,
/// which can be described as text, written and read.
/// </summary>
internal sealed class ValueWorld : IDisposable
{
    internal const long NowMs = 1_000_000;

    internal static readonly RdbLimits Limits = new(new HashLimits(6, 30), new SetLimits(6, 6, 30), new SortedSetLimits(6, 30), new ListLimits(20));

    private static readonly byte[] Chars = [.. "ab:0123456789-"u8];

    private readonly RdbOutput _output = new();

    /// <summary>Whether a value is invalid that states wrongly what follows from its elements.</summary>
    internal bool IsStrict { set => _scratch.IsStrict = value; }

    private readonly RdbScratch _scratch = new() { IsStrict = true };

    internal KeyStore Store { get; } = new(2, 1, guarded: true);

    internal Database Database => Store.Databases[0];

    internal Entry Find(string key) => Database.Find(Bytes(key), Store.Hash(Bytes(key)), ExpiryClock.RemovingAt(NowMs));

    /// <summary>Serializes a key's value: its type and its bytes.</summary>
    internal (RdbType Type, byte[] Value) Write(string key)
    {
        Assert.True(RdbValueWriter.TryOpenRemovingExpired(Database, Find(key), ExpiryClock.RemovingAt(NowMs), out RdbValueWriter writer));
        _output.Clear();
        writer.Write(_output, _scratch);
        return (writer.Type, _output.Written.ToArray());
    }

    /// <summary>Deserializes a value into a missing key.</summary>
    internal RdbOutcome Read(string key, RdbType type, byte[] value, long nowMs = NowMs)
    {
        var input = new RdbInput(value);
        return RdbValueReader.Read(type, ref input, new RdbTarget(Database, Bytes(key), Store.Hash(Bytes(key)), 0, nowMs, ExpiryClock.RemovingAt(nowMs), Limits), _scratch);
    }

    internal void Remove(string key)
    {
        Entry entry = Find(key);
        if (entry.Exists) Database.Unlink(entry, UnlinkReason.Deleted);
    }

    /// <summary>Asserts that every block was freed and none was overrun.</summary>
    internal void AssertEmpty()
    {
        Store.CheckGuards();
        new BackgroundSweep(Store, 0, 1).Run(NowMs, long.MaxValue, expire: false);
        Assert.Equal(0, Database.Count);
        foreach (Stripe stripe in Store.Stripes) Assert.Equal(0, stripe.Guard!.LiveBlocks);
    }

    /// <summary>Sets a key to a random value of a type.</summary>
    internal void Make(string key, DataType type, Random random)
    {
        byte[] name = Bytes(key);
        ulong hash = Store.Hash(name);
        int count = random.Next(3) == 0 ? random.Next(200, 2_000) : random.Next(1, 12);
        switch (type)
        {
            case DataType.String:
                byte[] text = random.Next(3) == 0 ? Number(random) : Text(random, random.Next(2) == 0 ? 100_000 : 60);
                text.CopyTo(Database.WriteString(name, hash, default, text.Length, ValueEncoding.Raw, Database.NoExpiry, 0).Value);
                break;
            case DataType.List:
                var list = ListValue.Create(Database, name, hash, Limits.List, 0);
                for (int i = 0; i < count; i++)
                {
                    byte[] element = Element(random, i);
                    list.PrepareFor(element.Length, 1);
                    if (random.Next(10) == 0) list.PushFirst(element);
                    else list.PushLast(element);
                }

                break;
            case DataType.Set:
                byte[] first = random.Next(2) == 0 ? Number(random) : Element(random, 0);
                var set = SetValue.Create(Database, name, hash, 0, first, 1, Limits.Set);
                set.Add(first);
                bool numbers = random.Next(2) == 0;
                for (int i = 1; i < count; i++) set.Add(numbers ? Number(random) : Element(random, i));
                break;
            case DataType.SortedSet:
                var sorted = SortedSetValue.Create(Database, name, hash, default, packed: true, 0);
                for (int i = 0; i < count; i++) sorted.Set(Element(random, i), Score(random), SortedSetRule.Always, Limits.SortedSet, out _);
                break;
            case DataType.Hash:
                HashValue fields = HashValue.Create(Database, name, hash, 0, ExpiryClock.RemovingAt(NowMs));
                bool expiries = random.Next(2) == 0;
                for (int i = 0; i < count; i++)
                {
                    byte[] field = Element(random, i);
                    fields.Set(field, Element(random, i + 1), Limits.Hash);
                    if (expiries && random.Next(2) == 0) fields.WriteExpiry(field, NowMs + 1 + random.Next(100_000));
                }

                break;
            case DataType.VectorSet:
                MakeVectorSet(name, hash, Math.Min(count, 300), random);
                break;
            case DataType.Array:
                ArrayValue array = ArrayValue.Create(Database, name, hash, 0);
                int shift = random.Next(3) == 0 ? 40 : random.Next(6);
                for (int i = 0; i < count; i++) array.Set((ulong)random.Next(count * 2) << shift, random.Next(2) == 0 ? Number(random) : Element(random, i));
                array.TakeOverState(random.Next(2) == 0 ? 0 : (ulong)random.NextInt64(), (ulong)random.Next(3));
                break;
            default:
                MakeStream(name, hash, count, random);
                break;
        }
    }

    /// <summary>Describes a key's value completely, in an order that does not depend on the encoding.</summary>
    internal string Describe(string key) => Describe(Database, Find(key), Limits.List);

    /// <summary>Describes a value of another keyspace.</summary>
    internal static string Describe(Database database, Entry entry, ListLimits limits)
    {
        List<string> parts = [];
        Span<byte> digits = stackalloc byte[CompactText.ScratchBytes];
        switch (entry.Type)
        {
            case DataType.String:
                parts.Add(Shown(entry.Value));
                break;
            case DataType.List:
                var list = new ListValue(database, entry, limits);
                ListReader elements = list.Read(0, list.Count);
                while (elements.MoveNext()) parts.Add(Shown(elements.Current));
                break;
            case DataType.Set:
                SetEnumerator members = SetView.Of(database, entry).Enumerate(digits);
                while (members.MoveNext()) parts.Add(Shown(members.Current));
                parts.Sort(StringComparer.Ordinal);
                break;
            case DataType.SortedSet:
                var sorted = new SortedSetValue(database, entry);
                for (SortedSetCursor place = sorted.At(0, digits); place.Exists; place.MoveNext()) parts.Add(string.Create(CultureInfo.InvariantCulture, $"{Shown(place.Member)}={place.Score + 0.0:R}"));
                Assert.Equal(sorted.Count, parts.Count);
                break;
            case DataType.Hash:
                HashFields fields = HashValue.Open(database, entry, ExpiryClock.RemovingAt(NowMs)).Fields();
                while (fields.MoveNext()) parts.Add($"{Shown(fields.Field.Bytes(digits))}={Shown(fields.Value.Bytes(digits[32..]))} until {fields.ExpiryMs}");
                parts.Sort(StringComparer.Ordinal);
                break;
            case DataType.VectorSet:
                DescribeVectorSet(VectorSetValue.Of(database, entry), parts);
                parts.Sort(StringComparer.Ordinal);
                break;
            case DataType.Array:
                ArrayValue array = ArrayValue.Of(database, entry);
                ArrayCursor cursor = array.Between(0, ArrayData.IndexMax);
                while (cursor.MoveNext()) parts.Add($"{cursor.Index}={Shown(cursor.Element.Bytes(digits))}");
                Assert.Equal(array.Count, parts.Count);
                parts.Add($"next {array.Next}, ring {array.Ring}");
                break;
            default:
                DescribeStream(StreamValue.Of(database, entry), parts, digits);
                break;
        }

        return $"{entry.Type}: {string.Join(", ", parts)}";
    }

    public void Dispose()
    {
        Store.Dispose();
        _output.Dispose();
        _scratch.Dispose();
    }

    private void MakeVectorSet(byte[] name, ulong hash, int count, Random random)
    {
        int dimensions = random.Next(1, 40);
        var form = new VectorSetForm(dimensions, random.Next(3) == 0 ? random.Next(1, 9) : 0, random.Next(4, 8), (VectorQuantization)random.Next(3));
        VectorSetValue set = VectorSetValue.Create(Database, name, hash, 0, form);
        bool hasAttributes = random.Next(2) == 0;
        for (int i = 0; i < count; i++)
        {
            float[] vector = [.. Enumerable.Range(0, form.ProjectedFrom > 0 ? form.ProjectedFrom : dimensions).Select(_ => (float)(random.NextDouble() - 0.5))];
            set.Add(Element(random, i), vector, effort: 20, hasAttributes && random.Next(2) == 0 ? Element(random, i) : [], keepsAttributes: false);
        }

        if (count > 3) set.Remove(set.Pick(random).Name.ToArray());
    }

    // With its links: they are written too.
    private static void DescribeVectorSet(VectorSetValue set, List<string> parts)
    {
        for (int number = 0; number < set.Numbers; number++)
        {
            VectorElement element = set.AtOrNone(number);
            if (!element.Exists) continue;
            var text = new StringBuilder(Shown(element.Name)).Append(CultureInfo.InvariantCulture, $" {Shown(element.Attributes)} {Convert.ToHexString(element.Stored)} {element.Norm:R} {element.Range:R}");
            for (int level = 0; level <= element.Level; level++)
            {
                List<string> linked = [];
                foreach (int link in element.Links(level)) linked.Add(Shown(set.At(link).Name));
                linked.Sort(StringComparer.Ordinal);
                text.Append(" -> ").AppendJoin(' ', linked);
            }

            parts.Add(text.ToString());
        }

        parts.Add(set.Form.ToString());
    }

    internal static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    private static string Shown(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    private static byte[] Number(Random random) => Bytes((random.Next(4) switch
    {
        0 => random.NextInt64(long.MinValue, long.MaxValue),
        1 => random.Next(int.MinValue, int.MaxValue),
        2 => random.Next(-70_000, 70_000),
        _ => random.Next(-130, 130),
    }).ToString(CultureInfo.InvariantCulture));

    private static double Score(Random random) => random.Next(6) switch
    {
        0 => double.PositiveInfinity,
        1 => double.NegativeInfinity,
        2 => random.Next(-5, 5),
        3 => random.NextDouble() * 1e300,
        4 => double.Epsilon,
        _ => random.Next(100) / 10.0,
    };

    private static byte[] Element(Random random, int number) => random.Next(12) switch
    {
        0 => Number(random),
        1 => [],
        2 => Text(random, 300),
        3 when random.Next(30) == 0 => Text(random, 20_000),
        _ => Bytes($"element:{number}"),
    };

    private static byte[] Text(Random random, int lengthMax)
    {
        byte[] text = new byte[random.Next(lengthMax)];
        bool any = random.Next(3) == 0;
        for (int i = 0; i < text.Length; i++) text[i] = any ? (byte)random.Next(256) : Chars[random.Next(Chars.Length)];
        return text;
    }

    private void MakeStream(byte[] name, ulong hash, int count, Random random)
    {
        Entry entry = Database.WriteValue(name, hash, default, new ValueHeader(DataType.Stream, ValueEncoding.Stream, 0), ValueRoot.Bytes, Database.NoExpiry);
        StreamValue stream = StreamValue.Create(Database, entry);
        ulong ms = 1_000;
        List<StreamId> ids = [];
        byte[][] names = [Bytes("a"), Bytes("temperature"), Bytes("7")];
        for (int i = 0; i < count; i++)
        {
            ms += (ulong)random.Next(3);
            ids.Add(new StreamId(ms, (ulong)i + 1));
            int pairs = random.Next(4) == 0 ? random.Next(1, 4) : 2;
            if (random.Next(20) == 0) names[1] = Text(random, 30);
            byte[][] values = [.. Enumerable.Range(0, pairs).Select(_ => random.Next(3) == 0 ? Number(random) : Element(random, 3))];
            StreamAppender appender = stream.Append(ids[^1], pairs, values.Sum(value => value.Length) + names.Sum(n => n.Length), 500, 20);
            for (int pair = 0; pair < pairs; pair++) appender.Name(names[pair]);
            for (int pair = 0; pair < pairs; pair++) appender.Pair(names[pair], values[pair]);
            appender.End();
        }

        for (int i = random.Next(count); i > 0; i--) stream.Delete(ids[random.Next(ids.Count)]);
        if (random.Next(3) == 0) stream.SetLastId(new StreamId(ms + 10, 0));
        for (int i = random.Next(4); i > 0; i--)
        {
            if (!stream.TryCreateGroup(Bytes($"group{random.Next(9)}"), ids[random.Next(ids.Count)], random.Next(2) == 0 ? -1 : random.Next(count))) continue;
            StreamGroup group = stream.GroupAt(random.Next(stream.GroupCount));
            for (int consumers = random.Next(4); consumers > 0; consumers--)
            {
                StreamConsumer consumer = group.FindOrCreateConsumer(Bytes($"consumer{random.Next(9)}"), NowMs - random.Next(1_000), out _);
                consumer.GotSomething(consumer.SeenMs);
                for (int pending = random.Next(30); pending > 0; pending--)
                {
                    StreamId id = ids[random.Next(ids.Count)];
                    if (!group.FindPending(id).Exists) group.AddPending(id, consumer, NowMs - random.Next(1_000), random.Next(1, 100));
                }
            }
        }
    }

    private static void DescribeStream(StreamValue stream, List<string> parts, Span<byte> digits)
    {
        parts.Add($"length {stream.Length} last {stream.LastId} first {stream.FirstId} deleted {stream.MaxDeletedId} added {stream.EntriesAdded}");
        StreamCursor cursor = stream.Range(default, StreamId.Max);
        while (cursor.MoveNext()) DescribeEntry(cursor.Id, cursor.Fields, parts, digits);
        int forth = parts.Count;
        StreamCursor back = stream.Range(default, StreamId.Max, reverse: true);
        while (back.MoveNext()) DescribeEntry(back.Id, back.Fields, parts, digits);
        Assert.Equal(parts[1..forth], parts[forth..].AsEnumerable().Reverse());
        Assert.Equal(stream.Length, forth - 1);
        for (int i = 0; i < stream.GroupCount; i++)
        {
            StreamGroup group = stream.GroupAt(i);
            parts.Add($"group {Shown(group.Name)} last {group.LastId} read {group.EntriesRead} lag {(group.Lag is { } lag ? $"{lag}" : "unknown")} pending {group.PendingCount}");
            PendingCursor pending = group.Pending(default);
            while (pending.MoveNext())
            {
                parts.Add($"{pending.Id} {Shown(pending.Entry.Consumer.Name)} {pending.Entry.DeliveredMs} {pending.Entry.Deliveries}");
            }

            for (int j = 0; j < group.ConsumerCount; j++)
            {
                StreamConsumer consumer = group.ConsumerAt(j);
                parts.Add($"consumer {Shown(consumer.Name)} seen {consumer.SeenMs} active {consumer.ActiveMs} pending {consumer.PendingCount}");
                PendingCursor own = group.PendingOf(consumer, default);
                while (own.MoveNext()) parts.Add($"{own.Id}");
            }
        }
    }

    private static void DescribeEntry(StreamId id, StreamFields fields, List<string> parts, Span<byte> digits)
    {
        var text = new StringBuilder(id.ToString());
        for (int i = 0; i < fields.Count; i++)
        {
            text.Append(' ').Append(Shown(fields.Name().Bytes(digits)));
            text.Append('=').Append(Shown(fields.Value().Bytes(digits)));
        }

        parts.Add(text.ToString());
    }
}
