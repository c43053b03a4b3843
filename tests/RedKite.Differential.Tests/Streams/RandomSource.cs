using System.Text;

namespace RedKite.Differential.Tests.Streams;

/// <summary>
/// Random arguments from pools: few keys, so that commands meet each other's, and the edges of each kind of value.
/// Expiries are either past or far away and never close to each other: two servers execute a command some
/// milliseconds apart, and no reply may depend on that.
/// </summary>
internal sealed class RandomSource(int seed)
{
    /// <summary>A key with long values, which commands of quadratic cost avoid.</summary>
    public const string LongKey = "long";

    /// <summary>The year 2100: beyond every relative expiry generated here. Absolute ones are later.</summary>
    public const long FarFutureSeconds = 4_102_444_800;

    private static readonly byte[] AllBytes = [.. Enumerable.Range(0, 256).Select(b => (byte)b)];

    private static readonly Argument[] KeyPool =
    [
        "a", "b", "c", "d", "e", "key:1", "key:2", "key:10", "{tag}x", "{tag}y", "", "line\r\nfeed", "[a-c]*?", "\\", "Ключ",
        new byte[] { 0 }, new byte[] { 0xff, 0xfe, 0x80 }, AllBytes, new string('k', 300),
    ];

    private static readonly Argument[] IntegerPool =
    [
        "0", "1", "-1", "2", "-2", "7", "10", "100", "9999", "10000", "123456789", "2147483647", "2147483648", "-2147483649", "4294967296",
        "9223372036854775807", "-9223372036854775808", "9223372036854775806", "-9223372036854775807",
    ];

    private static readonly Argument[] NotIntegerPool =
    [
        "", " ", "abc", "00", "01", "-0", "-01", "+1", " 1", "1 ", "1.0", "1.5", "1e3", "0x10", "--1", "-", "+", "nan", "inf",
        "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "99999999999999999999999999",
        new byte[] { (byte)'1', 0 }, "1\r\n", "١",
    ];

    private static readonly Argument[] FloatPool =
    [
        "0", "1", "-1", "0.1", "0.2", "0.3", "-0.1", "3.0", "3.0e3", "1e3", "1E3", "5.0e3", "2.0e-2", "10.5", "1.7976931348623157", "3.14159265358979312",
        "0.10000000000000001", "1e-17", "1e-18", "1e17", "1e18", "9007199254740993", "9223372036854775807", "18446744073709551616", "1e30",
        "123456789.12345678", "99999999999999999.9", ".5", "5.", "-.5", "+1.5", "0x1p3", "0x10", "-0", "-0.0", "00.5", "1e0",
    ];

    private static readonly Argument[] NotFloatPool =
    [
        "", " ", "abc", "nan", "NaN", "-nan", "1.2.3", "1,5", " 1.5", "1.5 ", "1e", "e5", "--1", "0x", "1e400", "-1e400", "1e5000", "inf", "-inf",
        "+inf", "infinity", "Infinity", new byte[] { (byte)'1', 0 }, "1\n",
    ];

    private static readonly Argument[] ValuePool =
    [
        "", "a", "x", "hello", "hello world", "Hello", "0", "1", "10", "-5", "9999", "10000", "007", "3.0", "10.50", "1e5", "nan", "inf", "true", "OK",
        "$-1\r\n", "*0\r\n", "a\r\nb", "\r\n", "\"quoted\"", "naïve café", "日本語", "ohmytext", "mynewtext",
        AllBytes, new byte[] { 0 }, new byte[] { 0, 0, 0, 0 }, new byte[] { 0xff },
        // Around the longest string that Redis embeds in its object, and its longest integers.
        new string('v', 43), new string('v', 44), new string('v', 45), new string('w', 63), new string('w', 64), new string('z', 400),
        "12345678901234567890", "-9223372036854775808", "9223372036854775807", "9223372036854775808", "0.30000000000000004",
    ];

    private static readonly Argument[] PatternPool =
    [
        "*", "?", "a", "a*", "*a", "key:*", "key:?", "key:[12]", "key:[^1]*", "[a-c]", "[c-a]", "[a-", "[", "[]", "[^]", "[\\]]", "\\*", "\\", "\\\\", "\\[a-c\\]*",
        "{tag}*", "", "nosuch*", "**", "*?*", "???", "k*k*k*k*k*k*1", "l*\r\n*", new byte[] { (byte)'*', 0xfe, (byte)'*' }, new byte[] { 0 },
    ];

    private static readonly Argument[] JunkPool = ["", "x", "NX", "GET", "-1", "0", "foo bar", "*", "\r\n", new byte[] { 0, 255 }, "9223372036854775808"];

    private readonly Random _random = new(seed);
    private int _expiries;
    private long _streamMs = 1;

    public int Below(int limit) => _random.Next(limit);

    public bool Chance(int percent) => _random.Next(100) < percent;

    public T Pick<T>(params IReadOnlyList<T> choices) => choices[_random.Next(choices.Count)];

    public Argument Word(params string[] choices)
    {
        string word = Pick(choices);
        return Chance(80) ? word : ChangeCase(word);
    }

    /// <summary>A key, one of the first five half of the time.</summary>
    public Argument Key() => Chance(50) ? KeyPool[_random.Next(5)] : Pick(KeyPool);

    public Argument Value() => Chance(75) ? Pick(ValuePool) : Chance(50) ? Integer() : Float();

    public Argument LongValue()
    {
        byte[] value = new byte[Pick(500, 4_095, 4_096, 16_383, 16_384, 16_385, 70_000)];
        _random.NextBytes(value);
        return value;
    }

    public Argument Integer() => Chance(85) ? Pick(IntegerPool) : Pick(NotIntegerPool);

    public Argument Float() => Chance(80) ? Pick(FloatPool) : Pick(NotFloatPool);

    /// <summary>An index into a short string, from either end, sometimes far outside or invalid.</summary>
    public Argument Index() => Chance(85) ? _random.Next(-12, 60) : Integer();

    public Argument Pattern() => Pick(PatternPool);

    public Argument Junk() => Pick(JunkPool);

    /// <summary>Whether a key was put into a command by mutation.</summary>
    public static bool IsJunk(byte[] key) => JunkPool.Any(junk => junk.Bytes.AsSpan().SequenceEqual(key));

    public Argument Database() => Chance(90) ? Below(3) : Pick<Argument>("15", "16", "-1", "abc", "", "9223372036854775807", "1.5", "99999999999999999999");

    /// <summary>
    /// An expiry distance in seconds, longer than any stream runs. Later distances are longer, and a stream generates too few
    /// of them to reach the next magnitude, so the order of two expiries does not depend on the machine's speed.
    /// </summary>
    public long FarSeconds() => Pick(1_000, 100_000, 1_000_000, 100_000_000) + (10L * ++_expiries);

    public long FarUnixSeconds() => FarFutureSeconds + (10L * ++_expiries);

    /// <summary>A relative expiry for commands that take one: mostly far, sometimes an edge or invalid.</summary>
    /// <param name="unitMs">1000 for seconds, 1 for milliseconds.</param>
    public Argument Expiry(int unitMs) => Chance(75) ? FarSeconds() * 1000 / unitMs : BadExpiry();

    /// <summary>An absolute expiry, likewise.</summary>
    public Argument UnixExpiry(int unitMs) => Chance(75) ? FarUnixSeconds() * 1000 / unitMs : BadExpiry();

    /// <summary>Immediate, overflowing or invalid values in any unit. None is a valid expiry in the near future.</summary>
    public Argument BadExpiry() => Pick<Argument>(
        "0", "-1", "-100", "-9223372036854775808", "-9223372036854775807", "9223372036854775808", "99999999999999999999", "9223372036854775700",
        "-9223372036854776", "abc", "", "1.5", " 1", "+5", "05", "nan");

    /// <summary>The time of a new stream entry's id: a little after the previous one, so that ids ascend.</summary>
    public long NextStreamMs() => _streamMs += Pick(0, 1, 1, 1, 2, 3, 61, 5_000);

    /// <summary>The time of the newest generated id.</summary>
    public long LastStreamMs => _streamMs;

    public string ChangeCase(string word)
    {
        StringBuilder text = new(word);
        for (int i = 0; i < text.Length; i++)
        {
            if (Chance(50)) text[i] = char.IsUpper(text[i]) ? char.ToLowerInvariant(text[i]) : char.ToUpperInvariant(text[i]);
        }

        return text.ToString();
    }

    /// <summary>Arguments repeated a few times: keys, or pairs.</summary>
    public Argument[] Several(int most, Func<Argument> random) => [.. Enumerable.Range(0, 1 + Below(most)).Select(_ => random())];
}
