using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class SortedSetPopCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Theory]
    [InlineData(128)]
    [InlineData(0)]
    public void Members_are_popped_from_both_ends(int membersMax)
    {
        Run($"CONFIG SET zset-max-listpack-entries {membersMax}").IsOk();
        Run("ZADD z 1 a 2 b 3 c 4 d 5 e").IsInteger(5);
        Run("ZPOPMIN z").IsArray("a", "1");
        Run("ZPOPMAX z 2").IsArray("e", "5", "d", "4");
        Run("ZPOPMIN z 0").IsArray();
        Run("ZPOPMIN z 100").IsArray("b", "2", "c", "3");
        Run("EXISTS z").IsInteger(0);
        Run("ZPOPMAX z").IsArray();
        Run("ZPOPMIN z -1").IsError("ERR value is out of range, must be positive");
        Run("ZPOPMIN z 1 2").IsError("ERR syntax error");
    }

    [Fact]
    public void Several_members_are_pairs_in_resp3()
    {
        Run("HELLO 3");
        Run("ZADD z 1 a 2 b").IsInteger(2);
        Run("ZPOPMIN z 1").Is(RespValue.Aggregate('*', [Pair("a", "1", ',')]));
        Run("ZPOPMIN z").Is(Pair("b", "2", ','));
    }

    [Fact]
    public void Zmpop_pops_the_first_key_with_members()
    {
        Run("ZADD z 1 a 2 b 3 c").IsInteger(3);
        Run("ZMPOP 2 missing z MIN").Is(Popped(Pair("a", "1", '$')));
        Run("ZMPOP 2 missing z max COUNT 10").Is(Popped(Pair("c", "3", '$'), Pair("b", "2", '$')));
        Run("ZMPOP 2 missing z MIN").Is(RespValue.Null('*'));
        Run("EXISTS z").IsInteger(0);
    }

    [Fact]
    public void Zmpop_refuses_invalid_arguments()
    {
        Run("ZMPOP 0 z MIN").IsError("ERR numkeys should be greater than 0");
        Run("ZMPOP x z MIN").IsError("ERR numkeys should be greater than 0");
        Run("ZMPOP 2 z MIN").IsError("ERR syntax error");
        Run("ZMPOP 1 z MEDIAN").IsError("ERR syntax error");
        Run("ZMPOP 1 z MIN COUNT 0").IsError("ERR count should be greater than 0");
        Run("ZMPOP 1 z MIN COUNT 1 COUNT 1").IsError("ERR syntax error");
        Run("SET s x").IsOk();
        Run("ZMPOP 1 s MIN").IsError("WRONGTYPE Operation against a key holding the wrong kind of value");
    }

    private static RespValue Popped(params RespValue[] pairs) => RespValue.Aggregate('*', [RespValue.Scalar('$', "z"u8.ToArray()), RespValue.Aggregate('*', [.. pairs])]);

    private static RespValue Pair(string member, string score, char scoreMarker) => RespValue.Aggregate(
        '*', [RespValue.Scalar('$', System.Text.Encoding.Latin1.GetBytes(member)), RespValue.Scalar(scoreMarker, System.Text.Encoding.Latin1.GetBytes(score))]);

    private RespValue Run(string line) => _transcript.Run(line);
}
