using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class LongestCommonSubsequenceTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Lcs_returns_the_subsequence_its_length_or_its_ranges()
    {
        Run("MSET a ohmytext b mynewtext").IsOk();
        Run("LCS a b").IsBulk("mytext");
        Run("LCS a b LEN").IsInteger(6);
        Assert.Equal("*[$matches *[*[*[:4 :7] *[:5 :8]] *[*[:2 :3] *[:0 :1]]] $len :6]", Run("LCS a b IDX").ToString());
        Assert.Equal("*[$matches *[*[*[:4 :7] *[:5 :8] :4]] $len :6]", Run("LCS a b IDX MINMATCHLEN 4 WITHMATCHLEN").ToString());
    }

    [Fact]
    public void Ranges_are_a_map_in_resp3()
    {
        Run("HELLO 3");
        Run("MSET a ohmytext b mynewtext").IsOk();
        Assert.Equal("%[$matches *[*[*[:4 :7] *[:5 :8]] *[*[:2 :3] *[:0 :1]]] $len :6]", Run("LCS a b IDX").ToString());
    }

    [Fact]
    public void Missing_keys_are_empty_strings()
    {
        Run("LCS a b").IsBulk("");
        Run("LCS a b LEN").IsInteger(0);
        Assert.Equal("*[$matches *[] $len :0]", Run("LCS a b IDX").ToString());
    }

    [Fact]
    public void Conflicting_or_unknown_options_are_refused()
    {
        Run("LCS a b IDX LEN").IsError("ERR If you want both the length and indexes, please just use IDX.");
        Run("LCS a b MINMATCHLEN").IsError("ERR syntax error");
        Run("LCS a b MINMATCHLEN x").IsError("ERR value is not an integer or out of range");
        Run("LCS a b NOPE").IsError("ERR syntax error");
    }

    [Fact]
    public void Strings_whose_table_would_exceed_the_limit_are_refused()
    {
        Run("SETRANGE a 19999 x").IsInteger(20_000);
        Run("SETRANGE b 19999 x").IsInteger(20_000);
        Run("LCS a b LEN").IsError("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
