using System.Globalization;

namespace RedKite.Testing;

/// <summary>
/// A server for one test or a class of tests: in this process, on a free port of the loopback interface, with a clock that stands still, faults on demand, and a record
/// of what it has received. Thread-safe. It needs no test framework.
/// </summary>
/// <example>
/// <code>
/// await using var redis = await RedKiteTestServer.StartAsync();
/// var cache = new PriceCache(redis.ConnectionString);   // the code under test, with its own client library
/// redis.Faults.Fail("LOADING Redis is loading the dataset in memory");
/// await cache.GetAsync("chair");                        // it tries again
/// redis.Clock.Advance(TimeSpan.FromMinutes(5));         // everything expires
/// redis.Received.Expect("SET", "price:chair");
/// </code>
/// </example>
public sealed class RedKiteTestServer : IAsyncDisposable
{
    private readonly Recorder _recorder;
    private readonly TestPort _port;

    private RedKiteTestServer(RedKiteServer server, RedKiteTestClock clock, Recorder recorder)
    {
        Server = server;
        Clock = clock;
        _recorder = recorder;
        _port = new TestPort(server);
        Client = server.CreateClient();
        Faults.Begin(_port);
        server.Engine.HoldForTest(Faults.Holds);
        clock.Drive(server);
    }

    /// <summary>Where client libraries connect: "127.0.0.1:port".</summary>
    public string ConnectionString => string.Create(CultureInfo.InvariantCulture, $"127.0.0.1:{_port.Number}");

    /// <summary>The port; 0 without one.</summary>
    public int Port => _port.Number;

    /// <summary>The clock of expiries, timeouts and delays.</summary>
    public RedKiteTestClock Clock { get; }

    /// <summary>What goes wrong.</summary>
    public RedKiteFaults Faults => _recorder.Faults;

    /// <summary>What connections have sent.</summary>
    public RedKiteReceived Received => _recorder.Received;

    /// <summary>A client in the process, for arranging and checking data. Faults do not concern it, and it is not recorded.</summary>
    public RedKiteClient Client { get; }

    /// <summary>The server itself.</summary>
    public RedKiteServer Server { get; }

    /// <summary>Starts a server.</summary>
    /// <param name="configure">Changes its options, such as custom commands or a password; null: nothing. The clock and the behaviors are the test server's.</param>
    /// <exception cref="RedKiteConfigException">The options are wrong.</exception>
    public static async Task<RedKiteTestServer> StartAsync(Action<RedKiteOptions>? configure = null)
    {
        var clock = new RedKiteTestClock();
        var recorder = new Recorder(clock);
        var options = new RedKiteOptions { Port = 0, TimeProvider = clock };
        options.Settings["loops"] = "1";
        options.Settings["stripes"] = "4";
        options.Settings["diagnostics"] = "no";
        configure?.Invoke(options);
        options.TimeProvider = clock;
        options.Behaviors.Insert(0, recorder);
        return new RedKiteTestServer(await RedKiteServer.StartAsync(options).ConfigureAwait(false), clock, recorder);
    }

    /// <summary>The data of all databases, to be restored later. Leaves no trace in access times and counts.</summary>
    public RedKiteSnapshot Snapshot() => RedKiteSnapshot.Of(Server);

    /// <summary>
    /// Replaces all data by a snapshot's, ends all faults but refused connections, and forgets what was received. The clock stays. What other clients do meanwhile is kept or lost.
    /// </summary>
    public void Restore(RedKiteSnapshot snapshot)
    {
        ArgumentNullException.ThrowIfNull(snapshot);
        Faults.Clear();
        snapshot.RestoreTo(Server);
        Received.Clear();
    }

    /// <summary>Stops the server.</summary>
    public async ValueTask DisposeAsync()
    {
        Clock.Drive(null);
        await Server.DisposeAsync().ConfigureAwait(false);
    }

    // The outermost behavior: it sees each command of a connection first.
    private sealed class Recorder(RedKiteTestClock clock) : Behavior
    {
        internal RedKiteFaults Faults { get; } = new(clock);

        internal RedKiteReceived Received { get; } = new();

        public override void Invoke(ref CommandCall call)
        {
            if (call.IsInProcess)
            {
                Next.Invoke(ref call);
                return;
            }

            DateTimeOffset time = clock.Now;
            if (Faults.Before(ref call))
            {
                Next.Invoke(ref call);
                Received.Add(call, time, ErrorOf(call));
                Faults.After(ref call);
                return;
            }

            Received.Add(call, time, ErrorOf(call) ?? "(the connection was ended)");
        }

        private static string? ErrorOf(in CommandCall call)
        {
            if (!call.RepliedError) return null;
            ReadOnlySpan<byte> reply = call.Reply;
            return System.Text.Encoding.UTF8.GetString(reply[1..reply.IndexOf((byte)'\r')]);
        }
    }
}
