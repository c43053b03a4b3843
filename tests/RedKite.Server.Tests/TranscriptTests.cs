using System.Globalization;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests;

/// <summary>
/// A test that reads as a transcript: a server in this process with one client, and a clock that only the test advances.
/// </summary>
public abstract class TranscriptTests : IAsyncLifetime
{
    // REDKITE_MOVES=1 runs all transcripts on guarded memory, and moves every block after every command.
    private static readonly bool MovesConstantly = Environment.GetEnvironmentVariable("REDKITE_MOVES") == "1";

    private RedKiteSession _client = null!;
    private Defragmentation? _moves;

    /// <summary>The server's clock. It starts at a whole second.</summary>
    protected ManualClock Clock { get; } = new();

    protected RedKiteServer Server { get; private set; } = null!;

    /// <summary>How many stripes the server has.</summary>
    protected virtual int Stripes => 64;

    public virtual async ValueTask InitializeAsync()
    {
        var options = new RedKiteOptions { Port = 0, TimeProvider = Clock, GuardsMemory = MovesConstantly };
        options.Settings["loops"] = "1";
        options.Settings["stripes"] = Stripes.ToString(CultureInfo.InvariantCulture);
        Server = await RedKiteServer.StartAsync(options);
        _client = Server.CreateSession();
        if (MovesConstantly) _moves = new Defragmentation(Server.Engine.Keyspace, 0, 1);
    }

    public virtual async ValueTask DisposeAsync()
    {
        await Server.DisposeAsync();
        Assert.Null(Server.Failure);
        GC.SuppressFinalize(this);
    }

    /// <summary>Executes a line of arguments separated by single blanks; '' is the empty argument.</summary>
    protected RedKiteReply Run(string line)
    {
        string[] words = line.Split(' ');
        for (int i = 0; i < words.Length; i++)
        {
            if (words[i] == "''") words[i] = "";
        }

        RedKiteReply reply = _client.Execute(words);
        _moves?.MoveAll();
        return reply;
    }
}

/// <summary>A clock that the test controls: time passes by Advance, and Jump sets the wall clock alone.</summary>
public sealed class ManualClock : TimeProvider
{
    private long _nowMs = 1_800_000_000_000;
    private long _passedMs;

    public override long TimestampFrequency => 1000;

    public long NowMs => Interlocked.Read(ref _nowMs);

    public override DateTimeOffset GetUtcNow() => DateTimeOffset.FromUnixTimeMilliseconds(NowMs);

    public override long GetTimestamp() => Interlocked.Read(ref _passedMs);

    public void Advance(long milliseconds)
    {
        Interlocked.Add(ref _passedMs, milliseconds);
        Jump(milliseconds);
    }

    public void Jump(long milliseconds) => Interlocked.Add(ref _nowMs, milliseconds);
}

/// <summary>Assertions on replies of a server in this process.</summary>
public static class InProcessReplyAssertions
{
    public static void IsOk(this RedKiteReply reply) => Is(reply, ReplyKind.Status, "OK");

    public static void IsStatus(this RedKiteReply reply, string text) => Is(reply, ReplyKind.Status, text);

    public static void IsText(this RedKiteReply reply, string text) => Is(reply, ReplyKind.Text, text);

    public static void IsInteger(this RedKiteReply reply, long value) => Is(reply, ReplyKind.Integer, value.ToString(CultureInfo.InvariantCulture));

    public static void IsError(this RedKiteReply reply, string text) => Is(reply, ReplyKind.Error, text);

    public static void IsNil(this RedKiteReply reply) => Assert.Equal(ReplyKind.Null, reply.Kind);

    /// <summary>An array of these texts in any order.</summary>
    public static void IsBag(this RedKiteReply reply, params string[] texts)
    {
        Assert.Equal(ReplyKind.Array, reply.Kind);
        Assert.Equal(texts.Order(StringComparer.Ordinal), reply.Items.Select(item => item.Text!).Order(StringComparer.Ordinal));
    }

    private static void Is(RedKiteReply reply, ReplyKind kind, string text)
    {
        Assert.Equal((kind, text), (reply.Kind, reply.Text));
    }
}
