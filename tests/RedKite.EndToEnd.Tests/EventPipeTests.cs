using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Globalization;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>What dotnet-trace and dotnet-counters get of a running server, through the library that they use: docs/exports.md.</summary>
public sealed class EventPipeTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public void Trace_has_the_events_with_their_payloads()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no event source");
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using var tool = new Tool(server.Id, new EventPipeProvider("RedKite", EventLevel.Informational));
        string address;
        long id;
        using (RespConnection client = server.Connect())
        {
            address = client.LocalEndPoint.ToString()!;
            id = client.Run("CLIENT ID").Number;
            client.Run("CONFIG SET slowlog-max-len 7").IsOk();
            client.Run("EVAL \"local start = os.clock() while os.clock() - start < 0.05 do end\" 0");
        }

        // The runtime hands over a thread's last events when others follow.
        void GoOn() => server.Connect().Dispose();
        foreach (string name in (string[])["ConnectionOpened", "ConnectionClosed"])
        {
            tool.WaitFor("RedKite", name, goOn: GoOn, matches: payload => payload["clientId"] is long client && client == id && payload["address"] is string text && text == address);
        }

        tool.WaitFor("RedKite", "SettingChanged", goOn: GoOn, matches: payload => payload["name"] is "slowlog-max-len");
        tool.WaitFor("RedKite", "SlowCommand", goOn: GoOn, matches: payload => payload["command"] is "eval" && payload["microseconds"] is >= 50_000L);
    }

    // The provider, its keyword (time series) and its arguments are those of dotnet-counters.
    [Fact]
    public void Counters_have_the_values_of_the_meter()
    {
        Assert.SkipUnless(ServerProgram.UnderTest.IsRedKite, "Redis has no meter");
        const long TimeSeries = 2;
        using ServerProcess server = ServerProcess.Start(ServerProgram.UnderTest);
        using RespConnection client = server.Connect();
        for (int i = 0; i < 123; i++) client.Run($"SET key:{i} value").IsOk();
        Dictionary<string, string> arguments = new()
        {
            ["SessionId"] = "SHARED",
            ["ClientId"] = Guid.NewGuid().ToString(),
            ["Metrics"] = "RedKite",
            ["RefreshInterval"] = "1",
            ["MaxTimeSeries"] = "1000",
            ["MaxHistograms"] = "10",
        };
        using var tool = new Tool(server.Id, new EventPipeProvider("System.Diagnostics.Metrics", EventLevel.Informational, TimeSeries, arguments));
        tool.WaitFor("System.Diagnostics.Metrics", "GaugeValuePublished", payload => IsOurs(payload, "redkite.keyspace.keys") && Value(payload, "lastValue") == 123);
        tool.WaitFor("System.Diagnostics.Metrics", "GaugeValuePublished", payload => IsOurs(payload, "redkite.memory.used") && payload["unit"] is "By" && Value(payload, "lastValue") > 100_000);
        tool.WaitFor("System.Diagnostics.Metrics", "CounterRateValuePublished", payload => IsOurs(payload, "redkite.commands.processed") && Value(payload, "value") >= 123);

        static bool IsOurs(Dictionary<string, object> payload, string instrument) => payload["meterName"] is "RedKite" && payload["instrumentName"] is string name && name == instrument;

        static double Value(Dictionary<string, object> payload, string field) => double.Parse((string)payload[field], CultureInfo.InvariantCulture);
    }

    // A session with a process, read by a thread of its own.
    private sealed class Tool : IDisposable
    {
        private readonly ConcurrentQueue<(string Provider, string Name, Dictionary<string, object> Payload)> _events = new();
        private readonly EventPipeSession _session;
        private readonly Thread _reading;

        internal Tool(int processId, EventPipeProvider provider)
        {
            _session = new DiagnosticsClient(processId).StartEventPipeSession([provider], requestRundown: false);
            _reading = new Thread(Read) { IsBackground = true, Name = "event-pipe" };
            _reading.Start();
        }

        internal void WaitFor(string provider, string name, Func<Dictionary<string, object>, bool> matches, Action? goOn = null)
        {
            var clock = Stopwatch.StartNew();
            while (!_events.Any(item => item.Provider == provider && item.Name == name && matches(item.Payload)))
            {
                Assert.True(clock.ElapsedMilliseconds < PatienceMs, $"no such {name}; there are:\n{string.Join('\n', _events.Select(Shown).Distinct().Take(100))}");
                goOn?.Invoke();
                Thread.Sleep(20);
            }
        }

        public void Dispose()
        {
            _session.Stop();
            _reading.Join();
            _session.Dispose();
        }

        private void Read()
        {
            using var source = new EventPipeEventSource(_session.EventStream);
            source.Dynamic.All += item => _events.Enqueue((item.ProviderName, item.EventName, item.PayloadNames.ToDictionary(name => name, item.PayloadByName)));
            source.Process();
        }

        private static string Shown((string Provider, string Name, Dictionary<string, object> Payload) item) =>
            $"{item.Provider} {item.Name} {string.Join(' ', item.Payload.Select(pair => $"{pair.Key}={pair.Value}"))}";
    }
}
