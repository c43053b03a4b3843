using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Hashes;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>Hashes against a dictionary, on the guarded arena, with limits so small that packed hashes become tables often.</summary>
public sealed class HashValueTests
{
    private const long Never = long.MaxValue;

    private static readonly string[] FieldNames = [.. Enumerable.Range(0, 40).Select(i => i % 3 == 0 ? $"{i}" : i % 3 == 1 ? $"field{i}" : $"{i}{new string('f', i)}"), "", "-1", "007", new string('n', 300)];
    private static readonly string[] Values = ["", "v", "value", "0", "-7", "12345678901", "9223372036854775807", "1.5", new string('x', 20), new string('y', 100), new string('w', 2_000), new string('z', 70_000)];

    [Theory]
    [InlineData(0, 64)]
    [InlineData(8, 64)]
    [InlineData(100, 2_000)]
    public void Random_operations_agree_with_a_dictionary(int fieldsMax, int bytesMax)
    {
        Randomness.Run(random =>
        {
            for (int round = 0; round < 20; round++)
            {
                using var world = new World(new HashLimits(fieldsMax, bytesMax));
                for (int step = 0; step < 600; step++)
                {
                    Step(world, random);
                    if (step % 40 == 0) world.AssertAll();
                }

                world.AssertAll();
                world.Check();
            }
        });
    }

    [Fact]
    public void Field_expiry_changes_the_encoding_of_a_packed_hash_permanently()
    {
        using var world = new World(new HashLimits(10, 100));
        world.Set("a", "1", keep: false);
        Assert.Equal(ValueEncoding.ListPack, world.Encoding);
        world.WriteExpiry("a", 100);
        Assert.Equal(ValueEncoding.ListPackEx, world.Encoding);
        Assert.Equal(1, world.Store.Databases[0].FieldsExpiring);
        world.WriteExpiry("a", Database.NoExpiry);
        Assert.Equal(ValueEncoding.ListPackEx, world.Encoding);
        Assert.Equal(0, world.Store.Databases[0].FieldsExpiring);
        world.AssertAll();
    }

    [Theory]
    [InlineData(100)]
    [InlineData(4)]
    public void Sweep_removes_untouched_expired_fields_and_empty_hashes(int fieldsMax)
    {
        using var world = new World(new HashLimits(fieldsMax, 100));
        for (int i = 0; i < 20; i++)
        {
            world.Set($"f{i}", "value", keep: false);
            if (i % 4 != 0) world.WriteExpiry($"f{i}", 1_000 * (i % 4));
        }

        var sweep = new BackgroundSweep(world.Store, 0, 1);
        foreach ((long nowMs, int left) in new[] { (999L, 20), (1_000, 15), (2_500, 10), (3_000, 5) })
        {
            Assert.False(sweep.Run(nowMs, Never, expire: true));
            Assert.Equal(20 - left, world.Store.ExpiredFields);
            Assert.Equal(left, world.RawCount);
        }

        Assert.Equal(0, world.Store.Databases[0].FieldsExpiring);
        Assert.Equal(0, world.Store.ExpiredKeys);
        for (int i = 0; i < 20; i += 4) world.WriteExpiry($"f{i}", 4_000);
        sweep.Run(4_000, Never, expire: true);
        Assert.Equal(0, world.Store.Databases[0].Count);
        world.Forget();
    }

    [Fact]
    public void Large_hash_expires_in_slices()
    {
        using var world = new World(new HashLimits(100, 100));
        const int Fields = 20_000;
        for (int i = 0; i < Fields; i++) world.Set($"f{i}", "value", keep: false);
        for (int i = 0; i < Fields; i++) world.WriteExpiry($"f{i}", 1_000 + (i % 2));
        var sweep = new BackgroundSweep(world.Store, 0, 1);
        long before = Fields;
        int calls = 0;
        while (sweep.Run(1_000, deadline: 0, expire: true))
        {
            long after = world.RawCount;
            Assert.InRange(before - after, 0, 2_500);
            before = after;
            Assert.True(++calls < 10_000);
        }

        Assert.InRange(calls, 5, 10_000);
        Assert.Equal(Fields / 2, world.RawCount);
        Assert.False(sweep.Run(1_001, Never, expire: true));
        Assert.Equal(0, world.Store.Databases[0].Count);
        world.Forget();
    }

    [Fact]
    public void Removed_large_hash_is_freed_in_slices()
    {
        using var world = new World(new HashLimits(100, 100));
        for (int i = 0; i < 10_000; i++) world.Set($"f{i}", "value", keep: false);
        world.RemoveKey();
        Assert.Contains(world.Store.Stripes, stripe => stripe.HasDropped);
        Assert.False(new BackgroundSweep(world.Store, 0, 1).Run(0, Never, expire: false));
        Assert.DoesNotContain(world.Store.Stripes, stripe => stripe.HasDropped);
        world.Forget();
    }

    private static void Step(World world, Random random)
    {
        string field = random.Pick(FieldNames);
        switch (random.Next(16))
        {
            case < 6: world.Set(field, Values[random.Next(random.Next(40) == 0 ? Values.Length : Values.Length - 1)], keep: random.Next(3) == 0); break;
            case 6 or 7: world.Remove(field); break;
            case < 11: world.WriteExpiry(field, random.Next(4) == 0 ? Database.NoExpiry : world.NowMs + 1 + random.Next(60)); break;
            case 11: world.NowMs += random.Next(25); break;
            case 12: world.Sweep(); break;
            case 13: world.CopyAndRename(random.Next(2) == 0); break;
            case 14: world.WriteKeyExpiry(random.Next(2) == 0 ? Database.NoExpiry : Never - 1); break;
            default: world.AssertField(field); break;
        }

        if (random.Next(150) == 0) world.RemoveKey();
    }

    private sealed class World(HashLimits limits) : IDisposable
    {
        private readonly SortedDictionary<string, (string Value, long Expiry)> _model = [];
        private long _expiredMs;
        private byte[] _key = "key"u8.ToArray();

        internal KeyStore Store { get; } = new(4, 1, guarded: true);

        internal long NowMs { get; set; }

        internal ValueEncoding Encoding => Find().Encoding;

        /// <summary>Fields, including expired ones that were not removed.</summary>
        internal long RawCount => HashValue.Open(Database, Find(), ExpiryClock.Never).Count;

        private Database Database => Store.Databases[0];

        internal void Set(string field, string value, bool keep)
        {
            Expire();
            Entry entry = Find();
            HashValue hash = entry.Exists ? HashValue.Open(Database, entry, ExpiryClock.RemovingAt(NowMs)) : default;
            if (!hash.Exists) hash = HashValue.Create(Database, _key, Store.Hash(_key), 0, ExpiryClock.RemovingAt(NowMs));
            bool isNew = keep ? hash.SetAndKeepExpiry(Bytes(field), Bytes(value), limits) : hash.Set(Bytes(field), Bytes(value), limits);
            Assert.Equal(!_model.ContainsKey(field), isNew);
            _model[field] = (value, keep && !isNew ? _model[field].Expiry : Never);
        }

        internal void Remove(string field)
        {
            Expire();
            HashValue hash = Open();
            bool removed = hash.Exists && hash.Remove(Bytes(field));
            Assert.Equal(_model.Remove(field), removed);
            Assert.Equal(_model.Count > 0, hash.Exists || _model.Count > 0);
        }

        internal void WriteExpiry(string field, long expiryMs)
        {
            Expire();
            if (!_model.TryGetValue(field, out (string Value, long Expiry) entry)) return;
            HashValue hash = Open();
            hash.WriteExpiry(Bytes(field), expiryMs);
            _model[field] = (entry.Value, expiryMs == Database.NoExpiry ? Never : expiryMs);
        }

        internal void WriteKeyExpiry(long expiryMs)
        {
            Entry entry = Find();
            if (entry.Exists) Database.WriteExpiry(entry, expiryMs);
        }

        internal void Sweep()
        {
            Expire();
            new BackgroundSweep(Store, 0, 1).Run(NowMs, HashValueTests.Never, expire: true);
            Assert.Equal(_model.Count > 0 ? 1 : 0, Database.Count);
            if (_model.Count > 0) Assert.Equal(_model.Count, RawCount);
            if (_model.Values.Any(entry => entry.Expiry != Never)) Assert.True(Find().FieldsExpire);
        }

        /// <summary>Renames the hash, or copies it and removes the original.</summary>
        internal void CopyAndRename(bool copy)
        {
            Entry entry = Find();
            if (!entry.Exists) return;
            byte[] key = Bytes("key" + Random.Shared.Next(100));
            if (key.AsSpan().SequenceEqual(_key)) return;
            if (copy)
            {
                Database.Copy(entry, Database, key, Store.Hash(key), default, 0);
                Database.Unlink(Find(), UnlinkReason.Deleted);
            }
            else
            {
                Database.Rename(entry, key, Store.Hash(key), default);
            }

            _key = key;
        }

        internal void RemoveKey()
        {
            Entry entry = Find();
            if (entry.Exists) Database.Unlink(entry, UnlinkReason.Deleted);
            _model.Clear();
        }

        internal void Forget() => _model.Clear();

        internal void AssertField(string field)
        {
            Expire();
            HashValue hash = Open();
            bool found = false;
            PackedElement value = default;
            if (hash.Exists) found = hash.TryGet(Bytes(field), out value);
            Assert.Equal(_model.TryGetValue(field, out (string Value, long Expiry) expected), found);
            if (!hash.Exists) return;
            Assert.Equal(!found ? IElementExpiries.Missing : expected.Expiry == Never ? Database.NoExpiry : expected.Expiry, hash.ExpiryOf(Bytes(field)));
            if (found) Assert.Equal(expected.Value, TextOf(value));
        }

        internal void AssertAll()
        {
            Expire();
            foreach (string field in FieldNames) AssertField(field);
            HashValue hash = Open();
            var found = new SortedDictionary<string, string>();
            if (hash.Exists)
            {
                HashFields fields = hash.Fields();
                while (fields.MoveNext()) found.Add(TextOf(fields.Field), TextOf(fields.Value));
            }

            Assert.Equal(_model.Select(pair => KeyValuePair.Create(pair.Key, pair.Value.Value)), found);
            hash.RemoveExpired();
            if (!hash.Exists) return;
            Assert.Equal(_model.Count, hash.Count);
            for (int i = 0; i < 5; i++)
            {
                HashFields picked = hash.IsTable ? hash.Pick(Random.Shared) : hash.At(Random.Shared.Next((int)hash.Count));
                Assert.Equal(_model[TextOf(picked.Field)].Value, TextOf(picked.Value));
            }
        }

        internal void Check() => Store.CheckGuards();

        public void Dispose() => Store.Dispose(); // the guards throw if anything is left

        private void Expire()
        {
            if (_expiredMs == NowMs) return;
            _expiredMs = NowMs;
            foreach (string field in _model.Keys.ToArray())
            {
                if (_model[field].Expiry <= NowMs) _model.Remove(field);
            }
        }

        private HashValue Open() => HashValue.Open(Database, Find(), ExpiryClock.RemovingAt(NowMs));

        private Entry Find() => Database.Find(_key, Store.Hash(_key), ExpiryClock.RemovingAt(NowMs));

        private static string TextOf(PackedElement element) =>
            element.IsNumber ? element.Number.ToString(CultureInfo.InvariantCulture) : System.Text.Encoding.ASCII.GetString(element.Bytes(default));

        private static byte[] Bytes(string text) => System.Text.Encoding.ASCII.GetBytes(text);
    }
}
