using RedKite.Server.Tests.Commands;
using RedKite.Store.Keyspace;
using RedKite.Store.Memory;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>
/// What a log or a primary's stream contains was accepted where there was more memory, or with other settings. It is executed: with a command that is
/// refused, the data would differ from then on.
/// </summary>
public sealed class AcceptedCommandTests : IAsyncLifetime
{
    private const int Places = 9_000; // a third of them can be found without memory, and no text be put there
    private const int Long = 70_000;

    private readonly CommandTranscript _transcript = new();

    public ValueTask InitializeAsync() => _transcript.InitializeAsync();

    public ValueTask DisposeAsync()
    {
        ScratchMemory.Refuses = false;
        return _transcript.DisposeAsync();
    }

    [Theory]
    [InlineData("JSON.SET doc $.numbers[:3000] '\"more than twenty bytes of text\"'", "JSON.GET doc $.numbers[2999]", "[\"more than twenty bytes of text\"]")]
    [InlineData("JSON.MSET doc $.numbers[:3000] '\"more than twenty bytes of text\"' doc $.flag false", "JSON.GET doc $.numbers[2999]", "[\"more than twenty bytes of text\"]")]
    [InlineData("JSON.ARRAPPEND doc $.arrays[:3000] '\"more than twenty bytes of text\"'", "JSON.GET doc $.arrays[2999]", "[[\"more than twenty bytes of text\"]]")]
    [InlineData("JSON.ARRINSERT doc $.arrays[:3000] 0 '\"more than twenty bytes of text\"'", "JSON.GET doc $.arrays[2999]", "[[\"more than twenty bytes of text\"]]")]
    [InlineData("JSON.STRAPPEND doc $.strings[:3000] '\"more than twenty bytes of text\"'", "JSON.GET doc $.strings[2999]", "[\"more than twenty bytes of text\"]")]
    [InlineData("JSON.NUMINCRBY doc $.numbers[*] 1", "JSON.GET doc $.numbers[8999]", "[8]")]
    [InlineData("JSON.DEL doc $.numbers[*]", "JSON.GET doc $.numbers", "[[]]")]
    [InlineData("JSON.CLEAR doc $..numbers[*]", "JSON.GET doc $.numbers[8999]", "[0]")]
    [InlineData("JSON.SET doc $[?(@[*]==8||@[*]==7)] 1", "JSON.GET doc $.numbers", "[1]")]
    [InlineData("JSON.ARRPOP doc $.long", "JSON.GET doc $.long", "[[]]")]
    [InlineData("JSON.ARRPOP doc .long", "JSON.GET doc $.long", "[[]]")]
    [InlineData("GEOSEARCHSTORE d places FROMLONLAT 0 0 BYRADIUS 30000 km", "ZCARD d", "9000")]
    [InlineData("GEORADIUS places 0 0 30000 km STORE d", "ZCARD d", "9000")]
    public void Memory_refuses_a_client_and_not_what_was_accepted(string command, string question, string answer)
    {
        Fill();
        AssertOnlyAccepted(command, question, answer);
    }

    [Theory]
    [InlineData("SETRANGE k 2000000 x", "STRLEN k", "2000001")]
    [InlineData("APPEND k xy", "STRLEN k", "1048577")]
    [InlineData("SETBIT k 16000000 1", "STRLEN k", "2000001")]
    [InlineData("BITFIELD k SET u8 16000000 1", "STRLEN k", "2000001")]
    public void Largest_string_refuses_a_client_and_not_what_was_accepted(string command, string question, string answer)
    {
        Run("CONFIG SET proto-max-bulk-len 1mb").IsOk();
        Run("SETRANGE k 1048574 x").IsInteger(1_048_575);
        AssertOnlyAccepted(command, question, answer);
    }

    private void AssertOnlyAccepted(string command, string question, string answer)
    {
        string before = Run(question).Text;
        ScratchMemory.Refuses = true;
        Assert.StartsWith("ERR ", Run(command).Text, StringComparison.Ordinal);
        ScratchMemory.Refuses = false;
        Assert.Equal(before, Run(question).Text);
        ScratchMemory.Refuses = true;
        _transcript.Client.Expiry = ExpiryPolicy.Keep;
        RespValue reply = Run(command);
        Assert.False(reply.IsError, reply.Text);
        ScratchMemory.Refuses = false;
        Assert.Equal(answer, Run(question).Text);
    }

    private void Fill()
    {
        string numbers = string.Join(',', Enumerable.Repeat('7', Places));
        string arrays = string.Join(',', Enumerable.Repeat("[]", Places));
        string strings = string.Join(',', Enumerable.Repeat("\"\"", Places));
        Run($$"""JSON.SET doc $ '{"numbers":[{{numbers}}],"arrays":[{{arrays}}],"strings":[{{strings}}],"long":["{{new string('x', Long)}}"],"flag":true}'""").IsOk();
        for (int i = 0; i < Places; i += 1_000) Run("GEOADD places " + string.Join(' ', Enumerable.Range(i, 1_000).Select(n => $"{n % 180}.5 {n % 80}.5 p{n}")));
    }

    private RespValue Run(string line) => _transcript.Run(line);
}
