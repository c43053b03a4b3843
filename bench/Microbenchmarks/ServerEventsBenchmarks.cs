using System.Diagnostics;
using BenchmarkDotNet.Attributes;
using RedKite.Server.Diagnostics.Export;

namespace RedKite.Microbenchmarks;

/// <summary>What the loops pay for events: without a listener they only ask whether there is one.</summary>
public class ServerEventsBenchmarks : IObserver<DiagnosticListener>, IObserver<KeyValuePair<string, object?>>
{
    private readonly List<IDisposable> _subscriptions = [];

    [Params(false, true)]
    public bool IsHeard { get; set; }

    [GlobalSetup]
    public void Setup()
    {
        if (IsHeard) _subscriptions.Add(DiagnosticListener.AllListeners.Subscribe(this));
    }

    [GlobalCleanup]
    public void Cleanup()
    {
        foreach (IDisposable subscription in _subscriptions) subscription.Dispose();
        _subscriptions.Clear();
    }

    [Benchmark(Baseline = true)]
    public bool AskForConnections() => ServerEvents.HearsConnections;

    [Benchmark]
    public bool AskForSlowCommands() => ServerEvents.HearsSlowCommands;

    [Benchmark]
    public void ConnectionOpened() => ServerEvents.ConnectionOpened(1, "127.0.0.1:50000");

    [Benchmark]
    public void SettingChanged() => ServerEvents.SettingChanged("maxmemory");

    void IObserver<DiagnosticListener>.OnNext(DiagnosticListener value)
    {
        if (value.Name == "RedKite") _subscriptions.Add(value.Subscribe(this));
    }

    void IObserver<KeyValuePair<string, object?>>.OnNext(KeyValuePair<string, object?> value)
    {
    }

    public void OnCompleted()
    {
    }

    public void OnError(Exception error)
    {
    }
}
