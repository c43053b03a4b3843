using System.Diagnostics.CodeAnalysis;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Protocol.Tests;

[SuppressMessage("Security", "CA5394", Justification = "Reproducible samples, not secrets.")]
[Collection(nameof(MeasuresTheHeap))]
public class NameLookupTests
{
    [Theory]
    [InlineData("")]
    [InlineData("a")]
    [InlineData("ab")]
    [InlineData("get")]
    [InlineData("incr")]
    [InlineData("lrange7")]
    [InlineData("flushall")]
    [InlineData("hincrbyfl")]
    [InlineData("sixteen-letters1")]
    [InlineData("seventeen-letters")]
    [InlineData("client-output-buffer-limit")]
    [InlineData("/api/v2/customers/{id}/orders/{order}/lines/{line}")]
    [InlineData("größe-der-Datenbank")]
    [InlineData("ключ")]
    [InlineData("𐐀𐐁-deseret")]
    public void Name_is_found_in_any_case_and_both_encodings(string name)
    {
        var lookup = new NameLookup<string>();
        Assert.True(lookup.TryAdd(name, "value"));
        foreach (string spelling in new[] { name, name.ToUpperInvariant(), name.ToLowerInvariant(), Casing(name, 1), Casing(name, 2) })
        {
            for (int again = 0; again < 4; again++)
            {
                Assert.True(lookup.TryGetValue(spelling, out string? value));
                Assert.Equal("value", value);
                Assert.True(lookup.TryGetValue(Encoding.UTF8.GetBytes(spelling), out value));
                Assert.Equal("value", value);
            }
        }

        Assert.False(lookup.TryAdd(name.ToUpperInvariant(), "another"));
        Assert.True(lookup.TryRemove(Casing(name, 3)));
        Assert.False(lookup.TryGetValue(name, out _));
        Assert.False(lookup.TryRemove(name));
        Assert.Equal(0, lookup.Count);
    }

    [Fact]
    public void Every_character_compares_as_in_the_base_library()
    {
        // Each character against each ASCII one, alone and at each position of a word: 65,536 spellings of 128 names.
        var lookup = new NameLookup<char>();
        var model = new Dictionary<string, char>(StringComparer.OrdinalIgnoreCase);
        for (char c = '\0'; c < 128; c++)
        {
            foreach (string name in Around(c))
            {
                Assert.Equal(model.TryAdd(name, c), lookup.TryAdd(name, c));
            }
        }

        for (int c = 0; c <= char.MaxValue; c++)
        {
            foreach (string name in Around((char)c))
            {
                bool expected = model.TryGetValue(name, out char value);
                Assert.Equal(expected, lookup.TryGetValue(name, out char found));
                Assert.Equal(value, found);
                byte[] utf8 = Encoding.UTF8.GetBytes(name);
                expected = model.TryGetValue(Encoding.UTF8.GetString(utf8), out value);
                Assert.Equal(expected, lookup.TryGetValue(utf8, out found));
                Assert.Equal(value, found);
            }
        }

        static string[] Around(char c) => [$"{c}", $"ab{c}de", $"abcdefgh{c}", $"abcdefgh{c}-abcdefghi"];
    }

    [Theory]
    [InlineData("abcdefghijklmnopqrstuvwxyzABCDEF0123-_@`[{")]
    [InlineData("aAbB")]
    [InlineData("aAäÄßẞİıſKkKсС\ud801\udc00\udc28\ufffd")]
    public void Random_calls_agree_with_a_dictionary(string alphabet)
    {
        var random = new Random(alphabet.Length);
        for (int round = 0; round < 20; round++)
        {
            var lookup = new NameLookup<int>();
            var model = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase);
            int lengthMax = round < 10 ? 4 : 40;
            for (int step = 0; step < 5000; step++)
            {
                string name = Name(random, alphabet, random.Next(lengthMax));
                if (model.Count > 0 && random.Next(2) == 0) name = Casing(model.Keys.ElementAt(random.Next(Math.Min(model.Count, 20))), random.Next());
                switch (random.Next(5))
                {
                    case 0:
                        Assert.Equal(model.TryAdd(name, step), lookup.TryAdd(name, step));
                        break;
                    case 1:
                        model[name] = step;
                        lookup.Set(name, step);
                        break;
                    case 2:
                        Assert.Equal(model.Remove(name), lookup.TryRemove(name));
                        break;
                    default:
                        byte[] utf8 = Encoding.UTF8.GetBytes(name);
                        Assert.Equal(model.TryGetValue(name, out int expected), lookup.TryGetValue(name, out int found));
                        Assert.Equal(expected, found);
                        Assert.Equal(model.TryGetValue(Encoding.UTF8.GetString(utf8), out expected), lookup.TryGetValue(utf8, out found));
                        Assert.Equal(expected, found);
                        break;
                }

                Assert.Equal(model.Count, lookup.Count);
            }
        }
    }

    [Fact]
    public void Invalid_utf8_compares_as_its_decoded_characters()
    {
        var lookup = new NameLookup<int>();
        lookup.TryAdd("a\ufffdb", 1);
        Assert.True(lookup.TryGetValue([(byte)'A', 0xFF, (byte)'B'], out _));
        Assert.True(lookup.TryGetValue("A\ufffdB", out _));
        Assert.False(lookup.TryGetValue([(byte)'A', 0xFF, 0xFF, (byte)'B'], out _));
    }

    [Fact]
    public void Name_length_is_limited()
    {
        var lookup = new NameLookup<int>();
        string longest = new('x', NameLookup<int>.NameLengthMax);
        lookup.TryAdd(longest, 1);
        Assert.True(lookup.TryGetValue(longest.ToUpperInvariant(), out _));
        Assert.Throws<ArgumentException>(() => lookup.TryAdd(longest + "x", 1));
        Assert.False(lookup.TryGetValue(longest + "x", out _));
        Assert.False(lookup.TryGetValue(new string('ö', 5000), out _));
    }

    [Theory]
    [InlineData("config-setting-with-name")]
    [InlineData("größenangabe-der-datenbank-äöü")]
    public void Millions_of_hostile_spellings_use_no_memory(string name)
    {
        var lookup = new NameLookup<object>();
        lookup.TryAdd(name, new object());
        lookup.TryAdd(name + "2ä", new object());
        const int casings = 1 << 20;
        Span<char> spelling = name.ToCharArray();
        Span<byte> utf8 = new byte[name.Length * 3];
        LookUp(lookup, name, spelling, utf8, 0, 1000);
        long before = GC.GetTotalMemory(forceFullCollection: true);
        long allocatedBefore = GC.GetAllocatedBytesForCurrentThread();
        LookUp(lookup, name, spelling, utf8, 0, casings);
        long allocated = GC.GetAllocatedBytesForCurrentThread() - allocatedBefore;
        long kept = GC.GetTotalMemory(forceFullCollection: true) - before;
        LookUp(lookup, name, spelling, utf8, 0, 2);

        // Two million lookups, of which at most 4,096 spellings of up to 60 bytes are cached.
        Assert.InRange(kept, long.MinValue, 1024 * 1024);
        if (System.Text.Ascii.IsValid(name)) Assert.Equal(0, allocated);
        GC.KeepAlive(lookup);

        static void LookUp(NameLookup<object> lookup, string name, Span<char> spelling, Span<byte> utf8, int from, int to)
        {
            for (int casing = from; casing < to; casing++)
            {
                for (int i = 0; i < name.Length; i++)
                {
                    spelling[i] = (casing >> (i % 24) & 1) == 0 ? char.ToLowerInvariant(name[i]) : char.ToUpperInvariant(name[i]);
                }

                int length = Encoding.UTF8.GetBytes(spelling, utf8);
                if (!lookup.TryGetValue(spelling, out _) || !lookup.TryGetValue(utf8[..length], out _)) Assert.Fail($"casing {casing} was not found");
            }
        }
    }

    [Fact]
    public void Number_of_cached_spellings_is_limited()
    {
        var names = new UnicodeNames<int>();
        Assert.True(names.Write("größenangabe-der-datenbank", 1, replace: false));
        for (int i = 0; i < 100_000; i++)
        {
            string spelling = Casing("größenangabe-der-datenbank", i);
            for (int again = 0; again < 3; again++) Assert.True(names.TryGetValue(spelling, out _));
        }

        Assert.InRange(names.SpellingCount, 1000, 4096);
    }

    [Theory]
    [InlineData("name-")]
    [InlineData("a-much-longer-name-")]
    [InlineData("größe-")]
    public void Readers_never_miss_present_names_and_never_see_removed_ones(string prefix)
    {
        var lookup = new NameLookup<Tuple<int, int>>();
        string[] staying = [.. Enumerable.Range(0, 50).Select(i => $"{prefix}stays{i}")];
        foreach (string name in staying) lookup.TryAdd(name, Tuple.Create(0, 0));

        // A name's generation is odd while it may be present, even after its removal has returned.
        string[] moving = [.. Enumerable.Range(0, 50).Select(i => $"{prefix}moves{i}")];
        var generations = new int[moving.Length];
        bool stop = false;
        var lookups = new long[4];
        string? failure = null;
        Thread[] readers = [.. Enumerable.Range(0, lookups.Length).Select(seed => new Thread(() => Read(seed)))];
        foreach (Thread reader in readers) reader.Start();

        long end = Environment.TickCount64 + TestScale.Of(gate: 200, full: 1500), endAtLast = end + 60_000;
        var random = new Random(7);
        int changes = 0;
        while (Volatile.Read(ref failure) is null
               && (Environment.TickCount64 < end || ((changes <= 1000 || lookups.Sum() <= 1000) && Environment.TickCount64 < endAtLast)))
        {
            int i = random.Next(moving.Length);
            int generation = generations[i];
            if ((generation & 1) == 0)
            {
                Volatile.Write(ref generations[i], generation + 1);
                Assert.True(lookup.TryAdd(Casing(moving[i], changes), Tuple.Create(i, generation + 1)));
            }
            else
            {
                if (random.Next(3) == 0) lookup.Set(moving[i], Tuple.Create(i, generation));
                Assert.True(lookup.TryRemove(Casing(moving[i], changes)));
                Volatile.Write(ref generations[i], generation + 1);
            }

            changes++;
        }

        Volatile.Write(ref stop, true);
        foreach (Thread reader in readers) reader.Join();
        Assert.Null(failure);
        Assert.True(changes > 1000 && lookups.Sum() > 1000, $"{changes} changes, {lookups.Sum()} lookups");

        void Read(int seed)
        {
            var random = new Random(seed);
            string[] spellings = [.. moving.Select((name, i) => Casing(name, seed + i))];
            byte[][] stayingUtf8 = [.. staying.Select((name, i) => Encoding.UTF8.GetBytes(Casing(name, seed * i)))];
            long done = 0;
            while (!Volatile.Read(ref stop))
            {
                if (!lookup.TryGetValue(stayingUtf8[random.Next(50)], out _)) Volatile.Write(ref failure, "a name that stays was not found");
                int i = random.Next(moving.Length);
                int before = Volatile.Read(ref generations[i]);
                if (lookup.TryGetValue(spellings[i], out Tuple<int, int>? value))
                {
                    // It was present at some moment of this lookup: its generation is not older than the previous one.
                    if (value.Item1 != i) Volatile.Write(ref failure, "another name's value");
                    if (value.Item2 < before) Volatile.Write(ref failure, $"generation {value.Item2} was seen after its removal: {before}");
                }

                Volatile.Write(ref lookups[seed], ++done);
            }
        }
    }

    [Fact]
    public void Many_names_are_all_found()
    {
        var lookup = new NameLookup<int>();
        for (int i = 0; i < 200_000; i++) Assert.True(lookup.TryAdd($"name:{i}", i));
        for (int i = 0; i < 200_000; i += 2) Assert.True(lookup.TryRemove($"NAME:{i}"));
        for (int i = 0; i < 200_000; i++)
        {
            Assert.Equal(i % 2 == 1, lookup.TryGetValue($"Name:{i}", out int value));
            if (i % 2 == 1) Assert.Equal(i, value);
        }

        Assert.Equal(100_000, lookup.Count);
    }

    private static string Name(Random random, string alphabet, int length) =>
        new([.. Enumerable.Range(0, length).Select(_ => alphabet[random.Next(alphabet.Length)])]);

    // One of a name's casings, chosen by the seed.
    private static string Casing(string name, int seed)
    {
        var random = new Random(seed);
        var runes = new StringBuilder();
        foreach (char c in name) runes.Append(random.Next(2) == 0 ? char.ToUpperInvariant(c) : char.ToLowerInvariant(c));
        return runes.ToString();
    }
}
