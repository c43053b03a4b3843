using System.Buffers;
using System.Text;
using RedKite.Store.Keyspace;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>A server in this process with one client, and a clock that only the test advances.</summary>
public sealed class CommandTranscript : IAsyncLifetime
{
    private readonly StandingClock _clock = new();
    private RedKiteServer _server = null!;
    private RedKiteSession _client = null!;

    /// <summary>The clock's time in Unix milliseconds.</summary>
    internal long NowMs => _clock.GetUtcNow().ToUnixTimeMilliseconds();

    internal RedKiteSession Client => _client;

    /// <summary>Whether every access beyond a block is found.</summary>
    internal bool GuardsMemory { get; init; }

    public async ValueTask InitializeAsync()
    {
        // One stripe: when a test's keys are gone, the memory of a single table is left.
        // No slow log: on a busy machine any command may be slow, and its entry would count as the command's allocation.
        var files = new FaultyFiles();
        files.CreateFolder(Environment.CurrentDirectory);
        _server = await RedKiteServer.StartAsync(new RedKiteOptions
        {
            Files = files,
            Port = 0,
            Settings = { ["loops"] = "1", ["stripes"] = "1", ["slowlog-log-slower-than"] = "-1", ["enable-debug-command"] = "yes" },
            TimeProvider = _clock,
            GuardsMemory = GuardsMemory,
        });
        _client = _server.CreateSession();
    }

    public async ValueTask DisposeAsync() => await _server.DisposeAsync();

    /// <summary>Runs a command written as in redis-cli and returns its reply.</summary>
    internal RespValue Run(string line) => Run(CommandLine.Split(line));

    /// <summary>Runs a command of any bytes and returns its reply.</summary>
    internal RespValue Run(IReadOnlyList<byte[]> arguments)
    {
        var replies = new ArrayBufferWriter<byte>();
        byte[] request = CommandLine.Encode(arguments);
        Assert.Equal(request.Length, _client.Execute(request, replies));
        int at = 0;
        var reader = new RespReader((buffer, offset) =>
        {
            int count = Math.Min(buffer.Length - offset, replies.WrittenCount - at);
            replies.WrittenSpan.Slice(at, count).CopyTo(buffer.AsSpan(offset));
            at += count;
            return count;
        });
        RespValue reply = reader.Read();
        Assert.True(at == replies.WrittenCount && !reader.HasUnread, "One command has one reply.");
        return reply;
    }

    /// <summary>Runs a command and returns how much rdb_changes_since_last_save grew.</summary>
    internal long ChangesOf(string line)
    {
        long before = Changes();
        Run(line);
        return Changes() - before;
    }

    private long Changes()
    {
        const string Name = "rdb_changes_since_last_save:";
        string line = Run("INFO persistence").Text.Split("\r\n").Single(line => line.StartsWith(Name, StringComparison.Ordinal));
        return long.Parse(line[Name.Length..], System.Globalization.CultureInfo.InvariantCulture);
    }

    internal Keyspace Keyspace => _server.Engine.Keyspace;

    /// <summary>Adds members with a command that takes several: <paramref name="member"/> is a format of the member's number.</summary>
    internal void Fill(string prefix, string member, int count, int perRequest = 1000)
    {
        for (int first = 0; first < count; first += perRequest)
        {
            IEnumerable<int> numbers = Enumerable.Range(first, Math.Min(perRequest, count - first));
            Assert.False(Run($"{prefix} {string.Join(' ', numbers.Select(number => string.Format(System.Globalization.CultureInfo.InvariantCulture, member, number)))}").IsError);
        }
    }

    /// <summary>Bytes of all stored data.</summary>
    internal long UsedBytes => _server.Engine.Keyspace.UsedBytes;

    /// <summary>Frees removed values that are queued to be freed in slices.</summary>
    internal void SweepAll()
    {
        foreach (Stripe stripe in _server.Engine.Keyspace.Stripes)
        {
            stripe.Enter();
            while (stripe.FreeDroppedSlice())
            {
            }

            stripe.Exit();
        }
    }

    /// <summary>Expired keys stay until a command accesses them.</summary>
    internal void StopSweeping() => _server.Engine.Run.ExpiresActively = false;

    internal void Advance(long ms) => _clock.Advance(ms);

    /// <summary>The encoding that OBJECT ENCODING replies; null for a missing key.</summary>
    internal ValueEncoding? EncodingOf(string key) => Look<ValueEncoding?>(key, entry => entry.Encoding);

    /// <summary>A key's expiry, or null if it has none or is missing.</summary>
    internal long? ExpiryOf(string key) => Look<long?>(key, entry => entry.Expires ? entry.ExpiryMs : null);

    private T? Look<T>(string key, Func<Entry, T> look)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(key);
        ulong hash = _server.Engine.Keyspace.Hash(bytes);
        using LockScope locked = _server.Engine.Keyspace.LockAll();
        Entry entry = _server.Engine.Keyspace.Databases[0].Find(bytes, hash, ExpiryClock.RemovingAt(NowMs));
        return entry.Exists ? look(entry) : default;
    }

    private sealed class StandingClock : TimeProvider
    {
        private DateTimeOffset _now = DateTimeOffset.FromUnixTimeMilliseconds(1_800_000_000_000);

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override DateTimeOffset GetUtcNow() => _now;

        public override long GetTimestamp() => _now.Ticks;

        public void Advance(long ms) => _now = _now.AddMilliseconds(ms);
    }
}
