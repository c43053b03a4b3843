using System.Text;
using FsCheck;
using FsCheck.Fluent;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Members;
using RedKite.Store.Values.Packed;
using RedKite.Store.Values.SortedSets;
using RedKite.TestSupport;

namespace RedKite.Store.Tests.Values;

/// <summary>Sorted sets against a dictionary of scores, in a guarded keyspace, packed and as tables.</summary>
public sealed class SortedSetValueTests(ITestOutputHelper output)
{
    private static readonly double[] Scores =
    [
        0, -0.0, 1, -1, 0.1, 1.5, 127, 128, 4095, 4096, 1e15, 9007199254740992, 9007199254740994, 1e17, 1e300, -1e300, 5e-324, 17.000000000000004,
        double.PositiveInfinity, double.NegativeInfinity, double.MaxValue, 3.0000000000000004,
    ];

    [Theory]
    [InlineData(0)]
    [InlineData(8)]
    [InlineData(1_000)]
    public void Generated_operations_agree_with_a_dictionary(int membersMax)
    {
        Prop.ForAll(ArbMap.Default.ArbFor<(byte Operation, byte Member, byte Score)[]>(), operations =>
        {
            using var world = new World(new SortedSetLimits(membersMax, 12));
            foreach ((byte operation, byte member, byte score) in operations) Apply(world, operation, member, Scores[score % Scores.Length]);
            world.AssertAll();
        }).Check(Config.QuickThrowOnFailure.WithMaxTest(200).WithEndSize(200));
    }

    [Theory]
    [InlineData(8)]
    [InlineData(100_000)]
    public void Copied_and_renamed_keys_have_the_same_members(int membersMax)
    {
        using var world = new World(new SortedSetLimits(membersMax, 64));
        for (int member = 0; member < 5_000; member += 1 + (membersMax / 50)) world.Set(member, member * 7 % 100 / 10.0, SortedSetRule.Always);
        for (int i = 0; i < 8; i++)
        {
            // Keys of all stripes, so that the copy is sometimes in the same arena.
            world.Copy($"copy{i}");
            world.AssertAll();
        }
    }

    [Fact]
    public void Table_reports_its_memory()
    {
        using var world = new World(new SortedSetLimits(4, 64));
        for (int member = 0; member < 3_000; member++) world.Set(member, member % 11, SortedSetRule.Always);
        world.AssertMemory();
        for (int member = 0; member < 3_000; member += 3) world.Remove(member);
        world.RemoveRange(100, 700);
        world.AssertMemory();
    }

    [Fact]
    [Long]
    public void Million_members_of_12_bytes_take_less_than_70_bytes_each()
    {
        const int Members = 1_000_000;
        using var keyspace = new Store.Keyspace.Keyspace(1, 1);
        Database database = keyspace.Databases[0];
        byte[] key = "key"u8.ToArray();
        var value = SortedSetValue.Create(database, key, keyspace.Hash(key), default, packed: false, 0);
        var random = new Random(1);
        byte[] member = new byte[12];
        for (int i = 0; i < Members; i++)
        {
            random.NextBytes(member);
            value.Set(member, random.NextDouble(), SortedSetRule.Always, new SortedSetLimits(128, 64), out _);
        }

        Assert.Equal(Members, value.Count);
        double bytes = (double)keyspace.Stripes[0].Arena.HeldBytes / Members;
        output.WriteLine($"{bytes:F1} bytes a member");
        Assert.InRange(bytes, 40, 70);
    }

    [Fact]
    public void Scan_finds_every_member()
    {
        using var world = new World(new SortedSetLimits(4, 64));
        for (int member = 0; member < 2_000; member++) world.Set(member, member, SortedSetRule.Always);
        world.AssertScan();
    }

    [Theory]
    [InlineData(4)]
    [InlineData(1_000)]
    public void Builder_stores_the_combined_result(int membersMax)
    {
        using var keyspace = new Store.Keyspace.Keyspace(4, 1, guarded: true);
        Database database = keyspace.Databases[0];
        byte[] key = "key"u8.ToArray();
        ulong hash = keyspace.Hash(key);
        var builder = new SortedSetBuilder(database, hash);
        for (int i = 0; i < 30; i++) builder.Combine(Encoding.ASCII.GetBytes($"{i % 20}"), i, ScoreAggregate.Sum);
        builder.Order();
        Assert.Equal(20, builder.Count);
        builder.Store(database, key, hash, database.Find(key, hash, ExpiryClock.Never), new SortedSetLimits(membersMax, 64), 0);

        var value = new SortedSetValue(database, database.Find(key, hash, ExpiryClock.Never));
        Assert.Equal(membersMax < 20 ? ValueEncoding.SkipList : ValueEncoding.ListPack, value.Entry.Encoding);
        Assert.Equal(20, value.Count);
        Assert.True(value.TryScore("3"u8, out double sum));
        Assert.Equal(26, sum);
        Assert.Equal(0, value.RankOf("10"u8, out double score));
        Assert.Equal(10, score);
        keyspace.CheckGuards();
    }

    [Fact]
    public void Scores_are_aggregated()
    {
        Assert.Equal(3, SortedSetBuilder.Aggregate(1, 2, ScoreAggregate.Sum));
        Assert.Equal(1, SortedSetBuilder.Aggregate(1, 2, ScoreAggregate.Min));
        Assert.Equal(2, SortedSetBuilder.Aggregate(1, 2, ScoreAggregate.Max));
        Assert.Equal(0, SortedSetBuilder.Aggregate(double.PositiveInfinity, double.NegativeInfinity, ScoreAggregate.Sum));
        Assert.Equal(1, SortedSetBuilder.Aggregate(1, double.NaN, ScoreAggregate.Max));
    }

    private static void Apply(World world, byte operation, int member, double score)
    {
        switch (operation % 16)
        {
            case < 7: world.Set(member, score, SortedSetRule.Always); break;
            case 7: world.Set(member, score, SortedSetRule.Increment); break;
            case 8: world.Set(member, score, SortedSetRule.OnlyNew); break;
            case 9: world.Set(member, score, SortedSetRule.OnlyExisting | SortedSetRule.OnlyLess); break;
            case 10: world.Set(member, score, SortedSetRule.OnlyGreater | SortedSetRule.Increment); break;
            case 11: world.Set(member + 1_000_000_000, score, SortedSetRule.Always); break;
            case 12 when member > 250: world.Set(-1, score, SortedSetRule.Always); break; // too long to be packed
            case 13 when member > 200: world.RemoveRange(member / 20, member % 5); break;
            default: world.Remove(member); break;
        }
    }

    /// <summary>One key and its expected contents.</summary>
    private sealed class World : IDisposable
    {
        private readonly Store.Keyspace.Keyspace _keyspace = new(4, 1, guarded: true);
        private readonly SortedSetLimits _limits;
        private readonly Dictionary<string, double> _model = [];
        private byte[] _key = "key"u8.ToArray();

        internal World(SortedSetLimits limits) => _limits = limits;

        private Database Database => _keyspace.Databases[0];

        private (double Score, string Member)[] Ordered =>
            [.. _model.Select(pair => (pair.Value, pair.Key)).OrderBy(pair => pair.Value).ThenBy(pair => pair.Key, StringComparer.Ordinal)];

        internal void Set(int member, double score, SortedSetRule rule)
        {
            string name = Name(member);
            byte[] bytes = Encoding.ASCII.GetBytes(name);
            ulong hash = _keyspace.Hash(_key);
            Entry entry = Database.Find(_key, hash, ExpiryClock.Never);
            if (!entry.Exists && rule.HasFlag(SortedSetRule.OnlyExisting)) return;
            SortedSetValue value = entry.Exists
                ? new SortedSetValue(Database, entry)
                : SortedSetValue.Create(Database, _key, hash, entry, packed: _limits.Admit(1, bytes.Length, 0), 0);
            SortedSetOutcome outcome = value.Set(bytes, score, rule, _limits, out double result);
            Assert.Equal(Expected(name, score, rule, out double expected), outcome);
            if (outcome is not (SortedSetOutcome.Added or SortedSetOutcome.Updated)) return;
            Assert.Equal(expected, result);
            _model[name] = expected;
        }

        internal void Remove(int member)
        {
            string name = Name(member);
            Entry entry = Find();
            if (!entry.Exists) return;
            var value = new SortedSetValue(Database, entry);
            Assert.Equal(_model.Remove(name), value.Remove(Encoding.ASCII.GetBytes(name)));
            Assert.Equal(value.Count > 0, Find().Exists);
        }

        internal void RemoveRange(int rank, int count)
        {
            if (rank >= _model.Count) return;
            count = Math.Min(count, _model.Count - rank);
            foreach ((_, string member) in Ordered.Skip(rank).Take(count)) _model.Remove(member);
            var value = new SortedSetValue(Database, Find());
            value.RemoveRange(rank, count);
            Assert.Equal(value.Count > 0, Find().Exists);
        }

        // Moves the set to another key and back, so that both copying and renaming are covered.
        internal void Copy(string name)
        {
            byte[] copy = Encoding.ASCII.GetBytes(name);
            byte[] renamed = Encoding.ASCII.GetBytes(name + "'");
            ulong hash = _keyspace.Hash(copy);
            Database.Copy(Find(), Database, copy, hash, Database.Find(copy, hash, ExpiryClock.Never), 0);
            AssertAll();
            Database.Unlink(Find(), UnlinkReason.Deleted);
            ulong renamedHash = _keyspace.Hash(renamed);
            Database.Rename(Database.Find(copy, hash, ExpiryClock.Never), renamed, renamedHash, Database.Find(renamed, renamedHash, ExpiryClock.Never));
            _key = renamed;
        }

        internal void AssertAll()
        {
            (double Score, string Member)[] expected = Ordered;
            Entry entry = Find();
            Assert.Equal(expected.Length > 0, entry.Exists);
            if (!entry.Exists) return;
            var value = new SortedSetValue(Database, entry);
            Assert.Equal(expected.Length, value.Count);
            if (value.Entry.Encoding == ValueEncoding.ListPack) Assert.True(expected.Length <= _limits.MembersMax);
            Span<byte> digits = stackalloc byte[CanonicalInteger.TextBytesMax];
            SortedSetCursor place = value.At(0, digits);
            for (int rank = 0; rank < expected.Length; rank++, place.MoveNext()) AssertPosition(value, place, rank, expected[rank]);
            Assert.False(place.Exists);
            place = value.At(expected.Length - 1, digits);
            for (int rank = expected.Length - 1; rank >= 0; rank--, place.MovePrevious()) Assert.Equal(expected[rank].Member, Encoding.ASCII.GetString(place.Member));
            Assert.False(place.Exists);
            foreach (double score in Scores)
            {
                Assert.Equal(expected.Count(pair => pair.Score < score), value.CountBefore(new ScoreBound(score, afterEqual: false)));
                Assert.Equal(expected.Count(pair => pair.Score <= score), value.CountBefore(new ScoreBound(score, afterEqual: true)));
            }

            _keyspace.CheckGuards();
        }

        internal void AssertMemory()
        {
            Entry entry = Find();
            Assert.Equal(_keyspace.Stripes[_keyspace.StripeOf(_keyspace.Hash(_key))].Arena.UsedBytes, entry.MemoryBytes);
        }

        internal void AssertScan()
        {
            var value = new SortedSetValue(Database, Find());
            var seen = new Dictionary<string, double>();
            ulong cursor = 0;
            do
            {
                for (MemberEnumerator members = value.ScanBucket(ref cursor); members.MoveNext();)
                {
                    var member = new SortedSetMember(members.Current);
                    seen[Encoding.ASCII.GetString(member.Member)] = member.Score;
                }
            }
            while (cursor != 0);
            Assert.Equal(_model.OrderBy(pair => pair.Key), seen.OrderBy(pair => pair.Key));
        }

        public void Dispose() => _keyspace.Dispose();

        private static string Name(int member) => member < 0 ? "a member of more than twelve bytes" : member % 3 == 0 ? $"m{member}" : $"{member}";

        private static void AssertPosition(SortedSetValue value, SortedSetCursor place, long rank, (double Score, string Member) expected)
        {
            Assert.Equal(expected.Member, Encoding.ASCII.GetString(place.Member));
            Assert.True(expected.Score == place.Score, $"{expected.Member} has {place.Score} instead of {expected.Score}"); // zero may lose its sign
            Assert.Equal(rank, value.RankOf(place.Member, out double score));
            Assert.Equal(expected.Score, score);
            Assert.True(value.TryScore(place.Member, out score));
            Assert.Equal(expected.Score, score);
            Assert.Equal(rank, value.CountBefore(new EntryBound(expected.Score, place.Member, afterEqual: false)));
        }

        private SortedSetOutcome Expected(string name, double score, SortedSetRule rule, out double result)
        {
            result = score;
            if (!_model.TryGetValue(name, out double current)) return rule.HasFlag(SortedSetRule.OnlyExisting) ? SortedSetOutcome.Refused : SortedSetOutcome.Added;
            if (rule.HasFlag(SortedSetRule.OnlyNew)) return SortedSetOutcome.Refused;
            if (rule.HasFlag(SortedSetRule.Increment)) result += current;
            if (double.IsNaN(result)) return SortedSetOutcome.NotANumber;
            if (rule.HasFlag(SortedSetRule.OnlyGreater) && result <= current) return SortedSetOutcome.Refused;
            if (rule.HasFlag(SortedSetRule.OnlyLess) && result >= current) return SortedSetOutcome.Refused;
            return result == current ? SortedSetOutcome.Unchanged : SortedSetOutcome.Updated;
        }

        private Entry Find() => Database.Find(_key, _keyspace.Hash(_key), ExpiryClock.Never);
    }
}
