using System.Globalization;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;
using KeyStore = RedKite.Store.Keyspace.Keyspace;

namespace RedKite.Store.Tests.Values;

/// <summary>Sets of every encoding on guarded memory against hash sets.</summary>
public class SetValueTests
{
    private static readonly SetLimits Small = new(IntegersMax: 8, PackedMax: 6, PackedBytesMax: 10);

    [Fact]
    public void Members_change_while_the_encoding_changes() => Randomness.Run(random =>
    {
        for (int round = 0; round < 300; round++)
        {
            using var store = new KeyStore(1, 1, guarded: true);
            var set = new TestSet(store, "key");
            int members = random.Pick(5, 12, 40, 300);
            bool integers = random.Next(2) == 0;
            for (int step = 0; step < 200; step++)
            {
                string member = Member(random, members, integers && step < 100);
                if (random.Next(3) > 0) set.Add(member);
                else set.Remove(member);
            }

            set.AssertSame();
            store.CheckGuards();
        }
    });

    [Fact]
    public void Encoding_anew_keeps_the_members_and_obeys_the_limits() => Randomness.Run(random =>
    {
        HashSet<(ValueEncoding, ValueEncoding)> changes = [];
        for (int round = 0; round < 300; round++)
        {
            using var store = new KeyStore(1, 1, guarded: true);
            bool integers = random.Next(3) == 0;
            var limits = new SetLimits(random.Next(12), random.Next(12), random.Next(16));
            var set = new TestSet(store, "key", limits: new SetLimits(random.Next(12), random.Next(12), random.Next(16)));
            for (int i = random.Next(1, 30); i > 0; i--) set.Add(Member(random, 40, integers));
            ValueEncoding before = set.View.Encoding;
            set.EncodeAnew(limits);
            set.AssertSame();
            ValueEncoding small = before == ValueEncoding.IntSet ? ValueEncoding.IntSet : ValueEncoding.ListPack;
            bool fits = before == ValueEncoding.IntSet
                ? set.Model.Count <= limits.IntegersMax
                : set.Model.Count <= limits.PackedMax && set.Model.All(member => member.Length <= limits.PackedBytesMax);
            Assert.Equal(fits ? small : ValueEncoding.HashTable, set.View.Encoding);
            changes.Add((before, set.View.Encoding));
            store.CheckGuards();
        }

        Assert.Contains((ValueEncoding.HashTable, ValueEncoding.ListPack), changes);
        Assert.Contains((ValueEncoding.ListPack, ValueEncoding.HashTable), changes);
        Assert.Contains((ValueEncoding.IntSet, ValueEncoding.HashTable), changes);
    });

    [Fact]
    public void Copied_and_renamed_sets_have_the_same_members() => Randomness.Run(random =>
    {
        for (int round = 0; round < 60; round++)
        {
            using var store = new KeyStore(round % 2 == 0 ? 1 : 4, 1, guarded: true);
            var set = new TestSet(store, "key");
            for (int i = random.Next(1, 30); i > 0; i--) set.Add(Member(random, 40, round % 3 == 0));
            set.CopyTo("copy").AssertSame();
            set.AssertSame();
            TestSet renamed = set.RenameTo("other name");
            renamed.AssertSame();
            renamed.Add("one more");
            renamed.AssertSame();
            store.CheckGuards();
        }
    });

    [Fact]
    public void Intersections_and_differences_match_the_members() => Randomness.Run(random =>
    {
        for (int round = 0; round < 300; round++)
        {
            using var store = new KeyStore(1, 1, guarded: true);
            List<TestSet> sets = [];
            int members = round % 20 == 0 ? random.Pick(500, 2_000) : random.Pick(6, 20, 60);
            for (int i = 0; i < random.Next(1, 5); i++)
            {
                var set = new TestSet(store, $"key:{i}");
                bool integers = random.Next(2) == 0;
                for (int count = random.Next(random.Pick(50, members)); count > 0; count--) set.Add(Member(random, members, integers));
                sets.Add(set);
            }

            foreach (bool inAll in (bool[])[true, false])
            {
                IEnumerable<string> expected = sets[0].Model.Where(member => sets.Skip(1).All(other => other.Model.Contains(member) == inAll));
                SetView[] views = [.. sets.Select(set => set.View)];
                List<string> found = [];
                var selection = new SetSelection(views[0], views.AsSpan(1), inAll, new byte[SetEnumerator.NumberBytesMax]);
                while (selection.MoveNext()) found.Add(Encoding.ASCII.GetString(selection.Current));
                Assert.Equal(expected.Order(StringComparer.Ordinal), found.Order(StringComparer.Ordinal));
            }
        }
    });

    [Fact]
    public void Detached_sets_are_attached_or_freed() => Randomness.Run(random =>
    {
        for (int round = 0; round < 200; round++)
        {
            using var store = new KeyStore(1, 1, guarded: true);
            Database database = store.Databases[0];
            ulong hash = store.Hash("key"u8);
            long before = store.UsedBytes;
            var target = new TestSet(store, "key");
            if (random.Next(2) == 0) target.Add(Member(random, 100, integers: false));
            SetValue built = SetValue.CreateDetached(database, hash, Small, isIntegers: random.Next(2) == 0);
            HashSet<string> model = [];
            for (int i = random.Next(30); i > 0; i--)
            {
                string member = Member(random, 40, round % 2 == 0);
                Assert.Equal(model.Add(member), built.Add(Encoding.ASCII.GetBytes(member)));
            }

            if (model.Count > 0 && random.Next(4) > 0)
            {
                built.AttachTo("key"u8, hash, database.Find("key"u8, hash, ExpiryClock.Never), 0);
                new TestSet(store, "key", model).AssertSame();
            }
            else
            {
                built.Free();
                target.AssertSame();
            }

            store.CheckGuards();
            Entry entry = database.Find("key"u8, hash, ExpiryClock.Never);
            if (entry.Exists) database.Unlink(entry, UnlinkReason.Deleted);
            Assert.Equal(0, database.Count);
        }
    });

    [Fact]
    public void Sampling_is_uniform_in_every_encoding() => Randomness.Run(random =>
    {
        // Chi-square with 11 degrees of freedom: uniform sampling exceeds 45 once in 200,000 runs.
        foreach ((int offset, bool integers, SetLimits limits) in ((int, bool, SetLimits)[])[(0, true, new(100, 100, 100)), (0, false, new(100, 100, 100)), (0, false, default)])
        {
            using var store = new KeyStore(1, 1, guarded: true);
            var set = new TestSet(store, "key", limits: limits);
            string[] members = [.. Enumerable.Range(offset, 12).Select(i => integers ? i.ToString(CultureInfo.InvariantCulture) : $"m{i}")];
            foreach (string member in members) set.Add(member);
            Dictionary<string, int> counts = members.ToDictionary(member => member, _ => 0);
            const int samples = 12_000;
            byte[] number = new byte[SetEnumerator.NumberBytesMax];
            for (int i = 0; i < samples; i++) counts[Encoding.ASCII.GetString(set.View.Pick(random, number, out _))]++;
            double expected = samples / 12.0;
            Assert.InRange(counts.Values.Sum(count => (count - expected) * (count - expected) / expected), 0, 45);
        }
    });

    private static string Member(Random random, int members, bool integers)
    {
        int index = random.Next(members);
        if (integers) return (index % 7 == 0 ? index * 100_000_000_000L : index - 5).ToString(CultureInfo.InvariantCulture);
        return (index % 5) switch
        {
            0 => index.ToString(CultureInfo.InvariantCulture),
            1 => new string('x', index % 14) + index,
            2 when index % 10 == 2 => new string('y', 300) + index,
            _ => $"m{index}",
        };
    }

    private sealed class TestSet
    {
        private readonly KeyStore _store;
        private readonly byte[] _key;
        private readonly ulong _hash;
        private readonly SetLimits _limits;

        internal TestSet(KeyStore store, string key, HashSet<string>? model = null, SetLimits? limits = null)
        {
            _store = store;
            _key = Encoding.ASCII.GetBytes(key);
            _hash = store.Hash(_key);
            _limits = limits ?? Small;
            Model = model ?? [];
        }

        internal HashSet<string> Model { get; }

        internal SetView View => SetView.Of(_store.Databases[0], Entry);

        private Entry Entry => _store.Databases[0].Find(_key, _hash, ExpiryClock.Never);

        internal void Add(string member)
        {
            byte[] bytes = Encoding.ASCII.GetBytes(member);
            SetValue set = Entry.Exists
                ? SetValue.Open(_store.Databases[0], Entry, _limits)
                : SetValue.Create(_store.Databases[0], _key, _hash, 0, bytes, 1, _limits);
            Assert.Equal(Model.Add(member), set.Add(bytes));
            AssertEncoding();
        }

        internal void Remove(string member)
        {
            if (!Entry.Exists) return;
            SetValue set = SetValue.Open(_store.Databases[0], Entry, _limits);
            Assert.Equal(Model.Remove(member), set.Remove(Encoding.ASCII.GetBytes(member)));
            Assert.Equal(set.Count > 0, Entry.Exists);
        }

        internal void EncodeAnew(SetLimits limits) => SetValue.Open(_store.Databases[0], Entry, limits).EncodeAnew();

        internal TestSet CopyTo(string key)
        {
            var copy = new TestSet(_store, key, [.. Model], _limits);
            Database.Copy(Entry, _store.Databases[0], copy._key, copy._hash, copy.Entry, 0);
            return copy;
        }

        internal TestSet RenameTo(string key)
        {
            var renamed = new TestSet(_store, key, Model, _limits);
            _store.Databases[0].Rename(Entry, renamed._key, renamed._hash, renamed.Entry);
            Assert.False(Entry.Exists);
            return renamed;
        }

        internal void AssertSame()
        {
            Assert.Equal(Model.Count > 0, Entry.Exists);
            List<string> found = [];
            SetEnumerator members = View.Enumerate(new byte[SetEnumerator.NumberBytesMax]);
            while (members.MoveNext()) found.Add(Encoding.ASCII.GetString(members.Current));
            Assert.Equal(Model.Order(StringComparer.Ordinal), found.Order(StringComparer.Ordinal));
            Assert.Equal(Model.Count, View.Count);
            foreach (string member in Model) Assert.True(View.Contains(Encoding.ASCII.GetBytes(member)));
            Assert.False(View.Contains("no such member"u8));
            if (Entry.Exists) Assert.True(Entry.MemoryBytes > 0);
        }

        // A small set may be a table, but a set beyond the limits must be one.
        private void AssertEncoding()
        {
            switch (Entry.Encoding)
            {
                case ValueEncoding.IntSet:
                    Assert.True(Model.Count <= _limits.IntegersMax && Model.All(member => long.TryParse(member, CultureInfo.InvariantCulture, out _)));
                    break;
                case ValueEncoding.ListPack:
                    Assert.True(Model.Count <= _limits.PackedMax && Model.All(member => member.Length <= _limits.PackedBytesMax));
                    break;
                default:
                    Assert.Equal(ValueEncoding.HashTable, Entry.Encoding);
                    break;
            }
        }
    }
}
