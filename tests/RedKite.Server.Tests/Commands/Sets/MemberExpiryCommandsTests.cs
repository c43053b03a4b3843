using System.Globalization;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// The expiry of a set's members. Expected replies are those of https://redis.io/commands (sexpire, sexpireat, sttl, sexpiretime, spersist, saddex);
/// they do not give the texts of errors.
/// </summary>
public sealed class MemberExpiryCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    private long Now => _transcript.NowMs;

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        _transcript.StopSweeping();
        Run("SADD s a b c").IsInteger(3);
    }

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Members_have_individual_expiries_in_four_units()
    {
        Run("SEXPIRE s 10 MEMBERS 2 a nosuch").IsIntegers(1, -2);
        Run("SPEXPIRE s 1500 MEMBERS 1 b").IsIntegers(1);
        Run("STTL s MEMBERS 4 a b c nosuch").IsIntegers(10, 2, -1, -2);
        Run("SPTTL s MEMBERS 4 a b c nosuch").IsIntegers(10_000, 1_500, -1, -2);
        Run("SPEXPIRETIME s MEMBERS 2 a b").IsIntegers(Now + 10_000, Now + 1_500);
        Run("SEXPIRETIME s MEMBERS 2 a b").IsIntegers((Now / 1000) + 10, (Now / 1000) + 2);
        Run($"SEXPIREAT s {(Now / 1000) + 20} MEMBERS 1 a").IsIntegers(1);
        Run($"SPEXPIREAT s {Now + 30_000} MEMBERS 1 c").IsIntegers(1);
        Run("STTL s MEMBERS 3 a b c").IsIntegers(20, 2, 30);
        Run("SEXPIRE nosuch 10 MEMBERS 2 a b").IsIntegers(-2, -2);
        Run("STTL nosuch MEMBERS 1 a").IsIntegers(-2);
        Run("SPERSIST nosuch MEMBERS 1 a").IsIntegers(-2);
        Run("SPERSIST s MEMBERS 3 b nosuch b").IsIntegers(1, -2, -1);
        Run("SADD n 1 2 3").IsInteger(3);
        Run("SPERSIST n MEMBERS 1 2").IsIntegers(-1);
        Assert.Equal(ValueEncoding.IntSet, _transcript.EncodingOf("n"));
        Run("SEXPIRE n 5 MEMBERS 1 2").IsIntegers(1);
        Run("STTL n MEMBERS 2 1 2").IsIntegers(-1, 5);
    }

    [Fact]
    public void Expired_members_are_invisible()
    {
        Run("SPEXPIRE s 100 MEMBERS 2 a b").IsIntegers(1, 1);
        _transcript.Advance(99);
        Run("SMISMEMBER s a b c").IsIntegers(1, 1, 1);
        _transcript.Advance(1);
        Run("SISMEMBER s a").IsInteger(0);
        Run("SMISMEMBER s a b c").IsIntegers(0, 0, 1);
        Run("STTL s MEMBERS 2 a c").IsIntegers(-2, -1);
        Run("SPERSIST s MEMBERS 1 a").IsIntegers(-2);
        Run("SSCAN s 0").Items[1].IsArray("c");
        Run("SREM s a").IsInteger(0);
        Run("SMOVE s t b").IsInteger(0);
        Run("SADD s b").IsInteger(1);
        Run("STTL s MEMBERS 1 b").IsIntegers(-1);
        Run("SREM s b").IsInteger(1);
        Run("SRANDMEMBER s -3").IsArray("c", "c", "c");
        Run("SMEMBERS s").IsArray("c");
        Run("SCARD s").IsInteger(1);
        Run("SORT s ALPHA").IsArray("c");
        Run("SADD u a b c d");
        Run("SINTER s u").IsArray("c");
        Run("SDIFFSTORE d u s").IsInteger(3);
        Run("ZUNIONSTORE z 1 s").IsInteger(1);
        Run("SPOP s 5").IsArray("c");
        Run("EXISTS s").IsInteger(0);
    }

    [Fact]
    public void Inputs_of_algebra_are_without_expired_members()
    {
        Run("SADD u a b c d");
        Run("SPEXPIRE s 100 MEMBERS 2 a b");
        Run("SPEXPIRE u 100 MEMBERS 2 b c");
        _transcript.Advance(100);
        Run("SINTERCARD 2 s u").IsInteger(0);
        Assert.Equal(["a", "c", "d"], Sorted("SUNION s u"));
        Assert.Equal(["a", "d"], Sorted("SDIFF u s"));
        Run("SUNIONCARD 2 s u").IsInteger(3);
        Run("ZINTERCARD 2 s u").IsInteger(0);
    }

    [Fact]
    public void Set_is_removed_with_its_last_member()
    {
        Run("SPEXPIRE s 100 MEMBERS 3 a b c").IsIntegers(1, 1, 1);
        _transcript.Advance(100);
        Run("SCARD s").IsInteger(0);
        Run("EXISTS s").IsInteger(0);
        Run("SADD s a b");
        Run("SEXPIRE s 0 MEMBERS 2 a b").IsIntegers(2, 2);
        Run("EXISTS s").IsInteger(0);
        Run("SADD s a b");
        Run("SPEXPIRE s 5 MEMBERS 2 a b");
        _transcript.Advance(5);
        new BackgroundSweep(_transcript.Keyspace, 0, 1).Run(Now, long.MaxValue, expire: true);
        Run("EXISTS s").IsInteger(0);
        Assert.Contains("expired_subkeys:7", Run("INFO stats").Text, StringComparison.Ordinal);
    }

    [Fact]
    public void Conditions_compare_with_the_present_expiry()
    {
        Run("SEXPIRE s 10 XX MEMBERS 1 a").IsIntegers(0);
        Run("SEXPIRE s 10 GT MEMBERS 1 a").IsIntegers(0);
        Run("SEXPIRE s 10 NX MEMBERS 1 a").IsIntegers(1);
        Run("SEXPIRE s 20 NX MEMBERS 1 a").IsIntegers(0);
        Run("SEXPIRE s 20 LT MEMBERS 2 a b").IsIntegers(0, 1);
        Run("SEXPIRE s 30 GT MEMBERS 2 a b").IsIntegers(1, 1);
        Run("SEXPIRE s 5 XX MEMBERS 3 a b c").IsIntegers(1, 1, 0);
        Run("STTL s MEMBERS 3 a b c").IsIntegers(5, 5, -1);
    }

    [Fact]
    public void Saddex_adds_on_a_condition_and_with_an_expiry()
    {
        Run("SADDEX s MNX MEMBERS 2 a d").IsInteger(0);
        Run("SADDEX s MXX EX 10 MEMBERS 2 a d").IsInteger(0);
        Run("SCARD s").IsInteger(3);
        Run("SADDEX s MXX EX 10 MEMBERS 2 a b").IsInteger(1);
        Run("SADDEX s MNX PX 1500 MEMBERS 2 d e").IsInteger(1);
        Run("STTL s MEMBERS 5 a b c d e").IsIntegers(10, 10, -1, 2, 2);
        Run("SADDEX s KEEPTTL MEMBERS 2 a f").IsInteger(1);
        Run("SADD s a").IsInteger(0);
        Run("STTL s MEMBERS 2 a f").IsIntegers(10, -1);
        Run("SADDEX s MEMBERS 2 a f").IsInteger(1);
        Run("STTL s MEMBERS 2 a f").IsIntegers(-1, -1);
        Run($"SADDEX t PXAT {Now + 5} MEMBERS 1 x").IsInteger(1);
        Run("SPTTL t MEMBERS 1 x").IsIntegers(5);
        Run($"SADDEX t EXAT {Now / 1000} MEMBERS 2 x y").IsInteger(1); // in the past
        Run("EXISTS t").IsInteger(0);
        _transcript.Advance(2_000);
        Run("SADDEX s MNX MEMBERS 1 d").IsInteger(1); // it had expired
        Run("STTL s MEMBERS 2 d e").IsIntegers(-1, -2);
    }

    [Theory]
    [InlineData("SEXPIRE s 10 MEMBERS 1 a MEMBERS 1 b", "ERR MEMBERS keyword specified multiple times")]
    [InlineData("SEXPIRE s 10 a b c", "ERR unknown argument: a")]
    [InlineData("SEXPIRE s 10 MEMBERS 0 a", "ERR Number of members must be a positive integer")]
    [InlineData("SEXPIRE s 10 MEMBERS 2 a", "ERR The `nummembers` parameter must match the number of arguments")]
    [InlineData("SEXPIRE s x MEMBERS 1 a", "ERR value is not an integer or out of range")]
    [InlineData("SEXPIRE s -1 MEMBERS 1 a", "ERR invalid expire time, must be >= 0")]
    [InlineData("SEXPIRE s 9223372036854775807 MEMBERS 1 a", "ERR invalid expire time in 'sexpire' command")]
    [InlineData("SEXPIRE s 1 NX XX MEMBERS 1 a", "ERR Multiple condition flags specified")]
    [InlineData("SADDEX s MNX MXX MEMBERS 1 z", "ERR Only one of MXX or MNX arguments can be specified")]
    [InlineData("SADDEX s EX 1 KEEPTTL MEMBERS 1 z", "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified")]
    [InlineData("SADDEX s NOSUCH MEMBERS 1 z", "ERR unknown argument: NOSUCH")]
    [InlineData("STTL t MEMBERS 1 a", "WRONGTYPE Operation against a key holding the wrong kind of value")]
    [InlineData("SADDEX t MEMBERS 1 a", "WRONGTYPE Operation against a key holding the wrong kind of value")]
    public void Error_changes_nothing(string line, string error)
    {
        Run("SET t 1").IsOk();
        Run(line).IsError(error);
        Run("STTL s MEMBERS 3 a b c").IsIntegers(-1, -1, -1);
        Run("SCARD s").IsInteger(3);
    }

    [Fact]
    public void Copies_dumps_and_reloads_keep_expiries()
    {
        string longMember = new('m', 300);
        Run($"SADD s {longMember}");
        Run($"SEXPIRE s 10 MEMBERS 2 a {longMember}");
        Run("SPEXPIRE s 5 MEMBERS 1 b");
        _transcript.Advance(5);
        Run("COPY s copy").IsInteger(1);
        Run("RENAME copy renamed").IsOk();
        byte[] dump = Run("DUMP s").Payload!;
        Run([.. CommandLine.Split("RESTORE restored 0"), dump]).IsOk();
        Run("SADD gone x");
        Run("SPEXPIRE gone 1 MEMBERS 1 x");
        _transcript.Advance(1);
        Assert.True(Run("DUMP gone").IsNull);
        Run("DEBUG RELOAD").IsOk();
        foreach (string key in (string[])["s", "renamed", "restored"])
        {
            Run($"STTL {key} MEMBERS 4 a b c {longMember}").IsIntegers(10, -2, -1, 10);
            Run($"SCARD {key}").IsInteger(3);
        }

        _transcript.Advance(10_000);
        Run("SMEMBERS restored").IsArray("c");
        dump[^11] ^= 1;
        Run([.. CommandLine.Split("RESTORE damaged 0"), dump]).IsError("ERR DUMP payload version or checksum are wrong");
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void Random_commands_agree_with_a_model(int seed)
    {
        var random = new Random(seed);
        var model = new Dictionary<string, long>(StringComparer.Ordinal);
        Run("DEL s");
        int steps = TestScale.Of(gate: 4_000, full: 40_000);
        for (int i = 0; i < steps; i++)
        {
            foreach (string gone in model.Where(pair => pair.Value <= Now).Select(pair => pair.Key).ToArray()) model.Remove(gone);
            string member = "m" + random.Next(200).ToString(CultureInfo.InvariantCulture) + (random.Next(20) == 0 ? new string('x', 300) : "");
            long ms = random.Next(1, 3_000);
            bool isThere = model.TryGetValue(member, out long oldMs);
            switch (random.Next(12))
            {
                case 0 or 1 or 2:
                    Run($"SADD s {member}").IsInteger(isThere ? 0 : 1);
                    if (!isThere) model[member] = long.MaxValue;
                    break;
                case 3 or 4:
                    Run($"SPEXPIRE s {ms} MEMBERS 1 {member}").IsIntegers(isThere ? 1 : -2);
                    if (isThere) model[member] = Now + ms;
                    break;
                case 5:
                    Run($"SADDEX s PX {ms} MEMBERS 1 {member}").IsInteger(1);
                    model[member] = Now + ms;
                    break;
                case 6:
                    Run($"SREM s {member}").IsInteger(isThere ? 1 : 0);
                    model.Remove(member);
                    break;
                case 7:
                    Run($"SPERSIST s MEMBERS 1 {member}").IsIntegers(!isThere ? -2 : oldMs == long.MaxValue ? -1 : 1);
                    if (isThere) model[member] = long.MaxValue;
                    break;
                case 8:
                    Run($"SPTTL s MEMBERS 1 {member}").IsIntegers(!isThere ? -2 : oldMs == long.MaxValue ? -1 : oldMs - Now);
                    break;
                case 9:
                    _transcript.Advance(random.Next(500));
                    break;
                case 10 when random.Next(4) == 0:
                    new BackgroundSweep(_transcript.Keyspace, 0, 1).Run(Now, long.MaxValue, expire: true);
                    break;
                case 11 when random.Next(10) == 0:
                    Assert.Equal(model.Keys.Order(StringComparer.Ordinal), Run("SMEMBERS s").Items.Select(item => item.Text).Order(StringComparer.Ordinal));
                    break;
                default:
                    Run($"SISMEMBER s {member}").IsInteger(isThere ? 1 : 0);
                    break;
            }
        }

        foreach (string gone in model.Where(pair => pair.Value <= Now).Select(pair => pair.Key).ToArray()) model.Remove(gone);
        Run("SCARD s").IsInteger(model.Count);
    }

    private string[] Sorted(string line) => [.. Run(line).Items.Select(item => item.Text).Order(StringComparer.Ordinal)];

    private RespValue Run(string line) => _transcript.Run(line);

    private RespValue Run(IReadOnlyList<byte[]> arguments) => _transcript.Run(arguments);
}
