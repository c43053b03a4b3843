using System.Net;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Orleans.Configuration;
using RedKite.TestSupport;
using StackExchange.Redis;

namespace RedKite.Libraries.Tests;

/// <summary>Orleans with its clustering, its grains' state and its reminders in the server.</summary>
public sealed class OrleansTests(Servers servers)
{
    public static TheoryData<string> Names => Servers.Names;

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Grains_keep_their_state_and_reminders_over_a_restart_of_the_cluster(string server)
    {
        string address = servers.On(server);
        using (IHost one = await StartAsync(address))
        {
            ICounterGrain counter = one.Services.GetRequiredService<IGrainFactory>().GetGrain<ICounterGrain>("visits");
            Assert.Equal(1, await counter.AddAsync());
            Assert.Equal(2, await counter.AddAsync());
            await counter.RemindAsync("weekly");
            await one.StopAsync(Cancellation);
        }

        using (IHost two = await StartAsync(address))
        {
            ICounterGrain counter = two.Services.GetRequiredService<IGrainFactory>().GetGrain<ICounterGrain>("visits");
            Assert.Equal(3, await counter.AddAsync());
            Assert.Equal(["weekly"], await counter.RemindersAsync());
            await two.StopAsync(Cancellation);
        }
    }

    private static async Task<IHost> StartAsync(string address)
    {
        ConfigurationOptions redis = ConfigurationOptions.Parse(address);
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(null);
        builder.Logging.ClearProviders();
        builder.UseOrleans(silo =>
        {
            silo.Configure<ClusterOptions>(options => (options.ClusterId, options.ServiceId) = ("tests", "tests"));
            silo.ConfigureEndpoints(IPAddress.Loopback, LoopbackPort.Next(), LoopbackPort.Next());
            silo.UseRedisClustering(options => options.ConfigurationOptions = redis);
            silo.AddRedisGrainStorageAsDefault(options => options.ConfigurationOptions = redis);
            silo.UseRedisReminderService(options => options.ConfigurationOptions = redis);
        });
        IHost host = builder.Build();
        await host.StartAsync(Cancellation);
        return host;
    }
}

public interface ICounterGrain : IGrainWithStringKey
{
    Task<int> AddAsync();

    Task RemindAsync(string name);

    Task<string[]> RemindersAsync();
}

public sealed class CounterGrain([PersistentState("counter")] IPersistentState<CounterState> state) : Grain, ICounterGrain, IRemindable
{
    public async Task<int> AddAsync()
    {
        state.State.Count++;
        await state.WriteStateAsync();
        return state.State.Count;
    }

    public Task RemindAsync(string name) => this.RegisterOrUpdateReminder(name, TimeSpan.FromDays(1), TimeSpan.FromDays(7));

    public async Task<string[]> RemindersAsync() => [.. (await this.GetReminders()).Select(reminder => reminder.ReminderName)];

    public Task ReceiveReminder(string reminderName, Orleans.Runtime.TickStatus status) => Task.CompletedTask;
}

[GenerateSerializer]
public sealed class CounterState
{
    [Id(0)]
    public int Count { get; set; }
}
