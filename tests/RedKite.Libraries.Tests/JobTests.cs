using Hangfire;
using Hangfire.Redis.StackExchange;
using StackExchange.Redis;

namespace RedKite.Libraries.Tests;

/// <summary>Background jobs: Hangfire.</summary>
public sealed class JobTests(Servers servers)
{
    public static TheoryData<string> Names => Servers.Names;

    internal static readonly Jobs Done = new();

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Jobs_run_now_later_again_after_each_other_and_after_a_failure(string server)
    {
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(servers.On(server));
        var storage = new RedisStorage(multiplexer, new RedisStorageOptions { Prefix = "{jobs}:", FetchTimeout = TimeSpan.FromSeconds(1) });
        var client = new BackgroundJobClient(storage);
        Done.Clear();
        string first = client.Enqueue(() => Work.Run("now"));
        client.ContinueJobWith(first, () => Work.Run("after"));
        client.Schedule(() => Work.Run("later"), TimeSpan.FromMilliseconds(200));
        var recurring = new RecurringJobManager(storage);
        recurring.AddOrUpdate("nightly", () => Work.Run("nightly"), Cron.Daily);
        recurring.Trigger("nightly");
        client.Enqueue(() => Work.FailOnce());
        using (new BackgroundJobServer(new BackgroundJobServerOptions { WorkerCount = 2, SchedulePollingInterval = TimeSpan.FromMilliseconds(100), ServerName = "tests" }, storage))
        {
            await Done.WaitForAsync(["now", "after", "later", "nightly", "second try"]);
        }

        Assert.Empty(storage.GetMonitoringApi().Servers());
        Assert.Equal(0, storage.GetMonitoringApi().FailedCount());
    }

    internal sealed class Jobs
    {
        private readonly Lock _lock = new();
        private readonly HashSet<string> _names = [];
        private int _tries;

        internal void Clear()
        {
            lock (_lock) _names.Clear();
            _tries = 0;
        }

        internal bool IsFirstTry() => Interlocked.Increment(ref _tries) == 1;

        internal void Add(string name)
        {
            lock (_lock) _names.Add(name);
        }

        internal async Task WaitForAsync(string[] names)
        {
            while (!Has(names)) await Task.Delay(20, TestContext.Current.CancellationToken);
        }

        private bool Has(string[] names)
        {
            lock (_lock) return _names.IsSupersetOf(names);
        }
    }
}

/// <summary>What the jobs do: Hangfire calls public methods.</summary>
public static class Work
{
    public static void Run(string name) => JobTests.Done.Add(name);

    [AutomaticRetry(Attempts = 3, DelaysInSeconds = [0])]
    public static void FailOnce()
    {
        if (JobTests.Done.IsFirstTry()) throw new InvalidOperationException("the first try fails");
        JobTests.Done.Add("second try");
    }
}
