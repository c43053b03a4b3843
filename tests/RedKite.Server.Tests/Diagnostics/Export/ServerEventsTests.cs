using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;
using System.Net.Sockets;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Export;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Diagnostics.Export;

/// <summary>The events that listeners in the process receive: by DiagnosticListener, EventListener, ActivityListener and MeterListener.</summary>
public class ServerEventsTests
{
    private const int PatienceMs = 60_000;

    // The instruments that are no rows of the table of metrics; the last is made last.
    private static readonly string[] OfCommands = ["redkite.calls", "redkite.call.errors", "redkite.call.time", "redkite.error_replies", "redkite.replica.offset_lag", "redkite.replica.acknowledgement_age", "redkite.finding"];

    [Fact]
    public async Task Diagnostic_listener_gets_every_event_with_its_payload()
    {
        var heard = new ConcurrentQueue<KeyValuePair<string, object?>>();
        using var subscriber = new Subscriber(heard.Enqueue);
        await MakeEverythingHappen();
        Assert.True(SpinWait.SpinUntil(() => Payloads<PackageEvent>("RedKite.PackageWritten").Length > 0, PatienceMs), "the package");
        Assert.Contains(Payloads<SlowCommandEvent>("RedKite.SlowCommand"), slow => slow is { Command: "debug", Microseconds: >= 20_000 });
        Assert.Contains(Payloads<SettingEvent>("RedKite.SettingChanged"), setting => setting.Name == "slowlog-max-len");

        // The listener is the process's: it hears the servers of other tests, too.
        Assert.Contains(Payloads<ConnectionEvent>("RedKite.ConnectionOpened"), opened =>
            opened.Address.StartsWith("127.0.0.1:", StringComparison.Ordinal) && Payloads<ConnectionEvent>("RedKite.ConnectionClosed").Contains(opened));
        Assert.Contains(Payloads<FindingEvent>("RedKite.FindingOpened"), finding => finding is { Name: "slow-log-off", Severity: "notice", Title: "The slow log is off" });
        Assert.Contains(Payloads<FindingEvent>("RedKite.FindingEnded"), finding => finding.Name == "slow-log-off");

        T[] Payloads<T>(string name) => [.. heard.Where(item => item.Key == name).Select(item => (T)item.Value!)];
    }

    [Fact]
    public async Task Subscriber_that_throws_ends_neither_a_loop_nor_a_command()
    {
        int heard = 0;
        using var subscriber = new Subscriber(_ =>
        {
            Interlocked.Increment(ref heard);
            throw new InvalidOperationException("a broken subscriber");
        });
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        using (RedKite.TestSupport.RespConnection client = RedKite.TestSupport.RespConnection.Connect(server.Port))
        {
            Assert.Equal("OK", client.Run("CONFIG SET slowlog-max-len 99").Text);
            Assert.Equal("PONG", client.Run("PING").Text);
        }

        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref heard) >= 3, PatienceMs), "opened, changed, closed");
        Assert.Null(server.Failure);
    }

    [Fact]
    public async Task Event_source_has_the_same_events()
    {
        using var listener = new Events();
        await MakeEverythingHappen();
        string[] expected = ["ConnectionClosed", "ConnectionOpened", "FindingEnded", "FindingOpened", "PackageWritten", "SettingChanged", "SlowCommand"];
        Assert.True(SpinWait.SpinUntil(() => expected.All(name => Payloads(name).Length > 0), PatienceMs), $"only {string.Join(", ", listener.Heard.Select(item => item.Name).Distinct())}");
        string opened = Payloads("ConnectionOpened")[0];
        Assert.Matches(@"^clientId=[1-9][0-9]* address=127\.0\.0\.1:[0-9]+$", opened);
        Assert.Contains(opened, Payloads("ConnectionClosed"));
        Assert.Contains("name=slowlog-max-len", Payloads("SettingChanged"));
        Assert.Contains(Payloads("SlowCommand"), payload => System.Text.RegularExpressions.Regex.IsMatch(payload, "^microseconds=[0-9]{5,} command=debug$"));
        foreach (string name in (string[])["FindingOpened", "FindingEnded"]) Assert.Contains("name=slow-log-off severity=notice title=The slow log is off", Payloads(name));
        Assert.Matches("^bytes=[0-9]{4,}$", Payloads("PackageWritten")[0]);

        string[] Payloads(string name) => [.. listener.Heard.Where(item => item.Name == name).Select(item => item.Payload)];
    }

    // The caller makes a slow command's payload only if something hears it.
    [Fact]
    public void Events_without_listeners_allocate_nothing()
    {
        var finding = new Finding(FindingTable.Rules[0], new("Title", "Evidence", FindingSeverity.Warning), 1);
        var changed = new TimelineEvent(1, TimelineKind.SettingChanged, 0, 0, "", "", "slowlog-max-len");
        (string Name, Action Raise)[] events =
        [
            ("ConnectionOpened", () => ServerEvents.ConnectionOpened(1, "127.0.0.1:1")),
            ("ConnectionClosed", () => ServerEvents.ConnectionClosed(1, "127.0.0.1:1")),
            ("HearsConnections", () => Assert.False(ServerEvents.HearsConnections)),
            ("HearsSlowCommands", () => Assert.False(ServerEvents.HearsSlowCommands)),
            ("SettingChanged", () => ServerEvents.OnTimeline(changed)),
            ("FindingOpened", () => ServerEvents.FindingOpened(finding)),
            ("FindingEnded", () => ServerEvents.FindingEnded(finding)),
            ("PackageWritten", () => ServerEvents.PackageWritten(1)),
        ];
        foreach ((string name, Action raise) in events)
        {
            raise();
            long allocated = Allocations.LeastBytes(() =>
            {
                for (int i = 0; i < 1000; i++) raise();
            });
            Assert.True(allocated == 0, name);
        }
    }

    [Fact]
    public async Task Slow_command_is_a_span_with_its_times()
    {
        var spans = new ConcurrentQueue<Activity>();
        using var listener = new ActivityListener
        {
            ShouldListenTo = source => source.Name == "RedKite",
            Sample = (ref ActivityCreationOptions<ActivityContext> _) => ActivitySamplingResult.AllData,
            ActivityStopped = spans.Enqueue,
        };
        ActivitySource.AddActivityListener(listener);
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["enable-debug-command"] = "yes" } }, TestContext.Current.CancellationToken);
        DateTime before = DateTime.UtcNow.AddMilliseconds(-50);
        server.Execute("DEBUG", "SLEEP", "0.05");
        Activity span = Assert.Single(spans, span => span is { OperationName: "DEBUG", Kind: ActivityKind.Server } && span.StartTimeUtc >= before);
        Assert.InRange(span.Duration.TotalMilliseconds, 50, PatienceMs);
        Assert.Equal("redis", span.GetTagItem("db.system.name"));

        // What the slow log takes is traced, however fast it is.
        server.Execute("CONFIG", "SET", "slowlog-log-slower-than", "0");
        server.Execute("LPUSH", "traced", "value");
        Assert.Contains(spans, span => span is { OperationName: "LPUSH", Kind: ActivityKind.Server } && span.Duration < TimeSpan.FromSeconds(1));
    }

    [Fact]
    public async Task Meter_has_every_exported_metric_in_base_units()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        for (int i = 0; i < 100; i++) server.Execute("SET", $"key:{i}", "value");
        ObservedSeconds.Until(server, () => server.Diagnostics!.View(server.Diagnostics.History.LatestSecond)[MetricTable.Keys] == 100, "it is observed");
        var values = new ConcurrentDictionary<string, double>();
        var instruments = new ConcurrentQueue<Instrument>();
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listening) =>
            {
                bool isOurs = instrument.Meter.Name == "RedKite" && instrument.Meter.Tags!.Any(tag => Equals(tag.Value, server.Engine.Run.RunId));
                if (!isOurs) return;
                instruments.Enqueue(instrument);
                listening.EnableMeasurementEvents(instrument);
            },
        };
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) => values[$"{instrument.Name}{{{string.Join(',', tags.ToArray().Select(tag => $"{tag.Key}={tag.Value}"))}}}"] = value);
        listener.Start();
        // A second that was not observed on a busy machine has no values.
        Assert.True(SpinWait.SpinUntil(
            () =>
            {
                listener.RecordObservableInstruments();
                return values.ContainsKey("redkite.keyspace.keys{}");
            },
            PatienceMs));
        Assert.Equal([.. ExportedMetrics.OfTable.Select(each => each.Metric.Name), .. OfCommands], instruments.Select(instrument => instrument.Name));
        Assert.Equal(100, values["redkite.keyspace.keys{}"]);
        Assert.Equal(100, values["redkite.calls{family=string,db.operation.name=SET}"]);
        Assert.Equal(0, values["redkite.call.errors{family=string,db.operation.name=SET,outcome=rejected}"]);
        Assert.InRange(values["redkite.call.time{family=string,db.operation.name=SET}"], 1e-9, 60);
        Assert.InRange(values["redkite.network.io{direction=receive}"], 0, double.MaxValue);
        Assert.InRange(values["redkite.memory.used{}"], 1, double.MaxValue);
        Assert.Equal("By", instruments.Single(instrument => instrument.Name == "redkite.memory.used").Unit);
        Assert.Equal("s", instruments.Single(instrument => instrument.Name == "redkite.latency").Unit);
    }

    [Theory]
    [InlineData("", "")] // the port is taken
    [InlineData("rename-command", "nosuch other")]
    [InlineData("user", "alice +nosuch")]
    public async Task Start_that_fails_makes_no_meter(string directive, string value)
    {
        using var taken = new System.Net.Sockets.TcpListener(System.Net.IPAddress.Loopback, 0);
        taken.Start();
        var options = new RedKiteOptions { Port = directive.Length > 0 ? 0 : ((System.Net.IPEndPoint)taken.LocalEndpoint).Port };
        if (directive.Length > 0) options.Settings[directive] = value;
        (int published, int left) = await CountInstruments(() => Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken)));
        Assert.Equal((0, 0), (published, left));
    }

    [Fact]
    public async Task Start_that_a_listener_breaks_leaves_no_meter()
    {
        int thread = Environment.CurrentManagedThreadId;
        (int published, int left) = await CountInstruments(async () =>
        {
            bool fails = false; // not for the instruments of other tests' servers, which it gets when it starts
            using var failing = new MeterListener
            {
                InstrumentPublished = (instrument, _) =>
                {
                    if (fails && instrument is { Meter.Name: "RedKite", Name: "redkite.finding" } && Environment.CurrentManagedThreadId == thread) throw new InvalidOperationException("the listener fails");
                },
            };
            failing.Start();
            fails = true;
            await Assert.ThrowsAsync<InvalidOperationException>(() => RedKiteServer.StartAsync(new RedKiteOptions { Port = null }, TestContext.Current.CancellationToken));
        });
        Assert.Equal(ExportedMetrics.OfTable.Count + OfCommands.Length, published);
        Assert.Equal(0, left);
    }

    // Those of this thread: other tests' servers start beside this one.
    private static async Task<(int Published, int Left)> CountInstruments(Func<Task> start)
    {
        int thread = 0;
        var published = new ConcurrentBag<Instrument>();
        var completed = new ConcurrentBag<Instrument>();
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listening) =>
            {
                if (instrument.Meter.Name != "RedKite" || Environment.CurrentManagedThreadId != thread) return;
                published.Add(instrument);
                listening.EnableMeasurementEvents(instrument);
            },
            MeasurementsCompleted = (instrument, _) => completed.Add(instrument),
        };
        listener.Start();
        thread = Environment.CurrentManagedThreadId;
        await start();
        thread = 0;
        return (published.Count, published.Except(completed).Count());
    }

    [Fact]
    public async Task Changed_settings_are_on_the_timeline_by_the_table_s_name()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        server.Execute("CONFIG", "SET", "SLOWLOG-MAX-LEN", "7");
        server.Execute("CONFIG", "SET", "no-such-setting", "secret");
        Assert.Equal(["slowlog-max-len"], server.Engine.Timeline.Events.Where(item => item.Kind == TimelineKind.SettingChanged).Select(item => item.Detail));
    }

    private static async Task MakeEverythingHappen()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["enable-debug-command"] = "yes", ["slowlog-log-slower-than"] = "-1" } });
        using (var client = new TcpClient(AddressFamily.InterNetwork))
        {
            await client.ConnectAsync("127.0.0.1", server.Port, TestContext.Current.CancellationToken);
            await client.GetStream().WriteAsync("PING\r\n"u8.ToArray(), TestContext.Current.CancellationToken);
            await client.GetStream().ReadExactlyAsync(new byte[7], TestContext.Current.CancellationToken);
        }

        server.Execute("CONFIG", "SET", "slowlog-max-len", "7");
        Assert.False(server.Execute("DEBUG", "PACKAGE", "LOG", "0").IsError);
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Current.Any(finding => finding.Rule.Name == "slow-log-off"), "the finding opens");
        server.Execute("CONFIG", "SET", "slowlog-log-slower-than", "10000");
        server.Execute("DEBUG", "SLEEP", "0.02");
        ObservedSeconds.Until(server, () => server.Diagnostics!.Findings.Ended.Any(finding => finding.Rule.Name == "slow-log-off"), "the finding ends");
    }

    private sealed class Events : EventListener
    {
        // The base class's constructor calls the methods below, before those of this class run.
        private ConcurrentQueue<(string Name, string Payload)>? _heard;

        internal ConcurrentQueue<(string Name, string Payload)> Heard => LazyInitializer.EnsureInitialized(ref _heard, () => new ConcurrentQueue<(string Name, string Payload)>());

        protected override void OnEventSourceCreated(EventSource eventSource)
        {
            if (eventSource.Name == "RedKite") EnableEvents(eventSource, EventLevel.Informational);
        }

        protected override void OnEventWritten(EventWrittenEventArgs eventData)
        {
            if (eventData.EventSource.Name == "RedKite" && eventData.EventName is { } name) Heard.Enqueue((name, string.Join(' ', eventData.PayloadNames!.Zip(eventData.Payload!, (field, value) => $"{field}={value}"))));
        }
    }

    // Hears every server of the process until it is disposed.
    private sealed class Subscriber : IDisposable
    {
        private readonly ConcurrentQueue<IDisposable> _subscriptions = new();

        internal Subscriber(Action<KeyValuePair<string, object?>> next) =>
            _subscriptions.Enqueue(DiagnosticListener.AllListeners.Subscribe(new Observer<DiagnosticListener>(listener =>
            {
                if (listener.Name == "RedKite") _subscriptions.Enqueue(listener.Subscribe(new Observer<KeyValuePair<string, object?>>(next)));
            })));

        public void Dispose()
        {
            foreach (IDisposable subscription in _subscriptions) subscription.Dispose();
        }
    }

    private sealed class Observer<T>(Action<T> next) : IObserver<T>
    {
        public void OnCompleted()
        {
        }

        public void OnError(Exception error)
        {
        }

        public void OnNext(T value) => next(value);
    }
}
