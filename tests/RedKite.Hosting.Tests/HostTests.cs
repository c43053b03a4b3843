using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>A server as a part of a host.</summary>
public sealed class HostTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-host-").FullName;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task Server_starts_and_stops_with_the_host_and_keeps_its_data()
    {
        for (int starts = 1; starts <= 2; starts++)
        {
            using IHost host = Build(new() { ["RedKite:Port"] = "0", ["RedKite:Persistence"] = "snapshots", ["RedKite:DataDirectory"] = _folder });
            var server = host.Services.GetRequiredService<RedKiteServer>();
            Assert.True(server.IsLoading);
            Assert.StartsWith("LOADING", server.Execute("GET", "starts").Text, StringComparison.Ordinal);
            await host.StartAsync(Token);
            Assert.False(server.IsLoading);
            Assert.Equal(starts, server.Execute("INCR", "starts").Integer);
            using (RespConnection client = RespConnection.Connect(server.Port)) client.Run("GET starts").IsBulk(starts.ToString(System.Globalization.CultureInfo.InvariantCulture));
            await host.StopAsync(Token);
            Assert.True(server.Stopped.IsCompletedSuccessfully);
        }
    }

    [Fact]
    public async Task The_typed_client_is_a_service()
    {
        using IHost host = Build(new() { ["RedKite:Port"] = "none" });
        RedKiteClient client = host.Services.GetRequiredService<RedKiteClient>();
        await host.StartAsync(Token);
        client.Set("k", "v");
        Assert.Equal("v", host.Services.GetRequiredService<RedKiteServer>().Execute("GET", "k").Text);
        await host.StopAsync(Token);
    }

    [Fact]
    public async Task Services_that_are_added_later_find_the_data_until_they_have_stopped()
    {
        var seen = new List<string>();
        using IHost host = Build(new() { ["RedKite:Port"] = "none" }, services => services.AddHostedService(provider => new Visitor(provider.GetRequiredService<RedKiteServer>(), seen)));
        await host.StartAsync(Token);
        await host.StopAsync(Token);
        Assert.Equal(["PONG", "1", "PONG"], seen);
    }

    [Fact]
    public async Task Every_fault_of_the_configuration_ends_the_start_with_one_message()
    {
        using IHost host = Build(new()
        {
            ["RedKite:Prot"] = "1",
            ["RedKite:Port"] = "many",
            ["RedKite:MaxMemory"] = "256 apples",
            ["RedKite:Eviction"] = "1",
            ["RedKite:LoadOnStart"] = "perhaps",
            ["RedKite:Settings:maxcleints"] = "1",
            ["RedKite:Settings:two words"] = "1",
            ["RedKite:Settings:loops"] = "-1",
        });
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => host.StartAsync(Token));
        Assert.Equal(
            [
                "configuration RedKite:Eviction: expected one of None, LeastRecentlyUsed, LeastFrequentlyUsed, LeastRecentlyModified, Random, ExpiringLeastRecentlyUsed, ExpiringLeastFrequentlyUsed, ExpiringLeastRecentlyModified, ExpiringRandom, ExpiringSoonest",
                "configuration RedKite:LoadOnStart: expected true or false",
                "configuration RedKite:MaxMemory: expected a number of bytes, also with kb, mb or gb",
                "configuration RedKite:Port: expected a port, 0 for a free one, or none",
                "configuration RedKite:Prot: unknown; the keys are AllowShutdown, ConfigFile, DataDirectory, Databases, Eviction, LoadOnStart, LogSync, Loops, MaxMemory, Password, Persistence, Port, ReplicaOf, UnixSocketPath, Cluster and Settings",
                "configuration RedKite:Settings:two words: 'two words' is no name of a directive",
                "options: loops '-1': expected an integer from 0 to 1024",
                "options: maxcleints: unknown directive; did you mean maxclients?",
            ],
            failure.Faults);
        Assert.Equal(string.Join('\n', failure.Faults), failure.Message);
    }

    [Fact]
    public async Task Configuration_has_members_and_directives_with_several_values_and_code_takes_precedence()
    {
        var settings = new Dictionary<string, string?>
        {
            ["RedKite:Port"] = "6379",
            ["RedKite:MaxMemory"] = "256mb",
            ["RedKite:Eviction"] = "LeastRecentlyUsed",
            ["RedKite:Settings:user:0"] = "alice on >secret ~* +@all",
            ["RedKite:Settings:user:1"] = "bob on nopass ~* +@all",
            ["RedKite:Settings:maxclients"] = "77",
        };
        using IHost host = Build(settings, services => services.AddRedKite(options => options.Port = null).AddRedKite(options => options.Settings["maxclients"] = "78"));
        await host.StartAsync(Token);
        var server = host.Services.GetRequiredService<RedKiteServer>();
        Assert.Equal(0, server.Port);
        Assert.Equal(["268435456", "allkeys-lru", "78"], ((string[])["maxmemory", "maxmemory-policy", "maxclients"]).Select(name => server.Execute("CONFIG", "GET", name).Items[1].Text));
        Assert.Equal(["alice", "bob", "default"], server.Execute("ACL", "USERS").Items.Select(user => user.Text));
        await host.StopAsync(Token);
    }

    [Fact]
    public async Task Another_section_may_be_named()
    {
        IConfiguration configuration = new ConfigurationBuilder().AddInMemoryCollection(new Dictionary<string, string?> { ["Cache:Port"] = "none", ["Cache:Databases"] = "3" }).Build();
        var services = new ServiceCollection();
        services.AddLogging().AddRedKite(configuration.GetSection("Cache"));
        services.AddSingleton<IHostApplicationLifetime, NoLifetime>();
        using ServiceProvider provider = services.BuildServiceProvider(); // the server can be disposed of without a wait for it
        IHostedService hosted = Assert.Single(provider.GetServices<IHostedService>());
        await hosted.StartAsync(Token);
        Assert.Equal("3", provider.GetRequiredService<RedKiteServer>().Execute("CONFIG", "GET", "databases").Items[1].Text);
    }

    [Fact]
    public async Task Canceled_start_leaves_no_server()
    {
        using IHost host = Build(new() { ["RedKite:Port"] = "none" });
        using var canceled = new CancellationTokenSource();
        await canceled.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => host.StartAsync(canceled.Token));
        Assert.True(host.Services.GetRequiredService<RedKiteServer>().IsLoading);
    }

    [Fact]
    public async Task Log_lines_have_categories_numbers_and_levels()
    {
        var log = new LogCollector();
        using IHost host = Build(new() { ["RedKite:Port"] = "none", ["RedKite:Persistence"] = "log", ["RedKite:DataDirectory"] = _folder, ["RedKite:AllowShutdown"] = "true", ["RedKite:Settings:io-threads"] = "4" }, services => services.AddSingleton<ILoggerProvider>(log));
        await host.StartAsync(Token);
        var server = host.Services.GetRequiredService<RedKiteServer>();
        server.Execute("EVAL", "redis.log(redis.LOG_DEBUG, 'deep') redis.log(redis.LOG_WARNING, 'wide {brace}')", "0");
        Task shutdown = Task.Run(() => server.Execute("SHUTDOWN", "NOSAVE"), Token);
        await server.Stopped.WaitAsync(TimeSpan.FromSeconds(60), Token);
        await Task.WhenAny(shutdown);
        Assert.Contains(("RedKite.Configuration", 200, "SettingWithoutEffect", LogLevel.Warning), log.Kinds);
        Assert.Contains(("RedKite.Server", 100, "Started", LogLevel.Information), log.Kinds);
        Assert.Contains(("RedKite.Server", 102, "ShutdownRequested", LogLevel.Information), log.Kinds);
        Assert.Contains("wide {brace}", log.Messages);
    }

    [Fact]
    public async Task Host_ends_while_a_client_s_shutdown_stops_the_server()
    {
        using IHost host = Build(new() { ["RedKite:Port"] = "none", ["RedKite:Persistence"] = "log", ["RedKite:DataDirectory"] = _folder, ["RedKite:AllowShutdown"] = "true" });
        await host.StartAsync(Token);
        var server = host.Services.GetRequiredService<RedKiteServer>();
        await Task.Run(() => server.Execute("SHUTDOWN", "NOSAVE"), Token);
    }

    [Fact]
    public async Task A_node_of_a_cluster_is_configured_as_the_rest()
    {
        using IHost host = Build(new()
        {
            ["RedKite:Port"] = "0",
            ["RedKite:DataDirectory"] = _folder,
            ["RedKite:Persistence"] = "None",
            ["RedKite:Settings:cluster-announce-bus-port"] = "7",
            ["RedKite:Cluster:AnnounceIp"] = "10.1.2.3",
            ["RedKite:Cluster:AnnouncePort"] = "7001",
            ["RedKite:Cluster:Name"] = "first",
            ["RedKite:Cluster:Zone"] = "north",
            ["RedKite:Cluster:ReplicaAcks"] = "1",
            ["RedKite:Cluster:Lease"] = "00:00:05",
            ["RedKite:Cluster:EtcdPrefix"] = "/shop/",
        });
        await host.StartAsync(Token);
        var server = host.Services.GetRequiredService<RedKiteServer>();
        Assert.Equal("OK", server.Execute("CLUSTER", "ADDSLOTSRANGE", "0", "16383").Text);
        Assert.Contains("10.1.2.3:7001@7 myself,master", server.Execute("CLUSTER", "NODES").Text, StringComparison.Ordinal);
        foreach ((string setting, string value) in (ReadOnlySpan<(string, string)>)[("replica-acks", "1"), ("cluster-lease-ms", "5000"), ("cluster-etcd-prefix", "/shop/"), ("cluster-announce-human-nodename", "first"), ("cluster-announce-zone", "north")])
            Assert.Equal(value, server.Execute("CONFIG", "GET", setting).Items[1].Text);
        await host.StopAsync(Token);
    }

    [Fact]
    public async Task Every_fault_of_a_node_s_configuration_ends_the_start_with_one_message()
    {
        using IHost host = Build(new()
        {
            ["RedKite:Port"] = "none",
            ["RedKite:Databases"] = "16",
            ["RedKite:Cluster:Etdc"] = "http://127.0.0.1:1",
            ["RedKite:Cluster:Lease"] = "10",
            ["RedKite:Cluster:AnnouncePort"] = "many",
        });
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => host.StartAsync(Token));
        Assert.Equal(
            [
                "configuration RedKite:Cluster:AnnouncePort: expected a port",
                "configuration RedKite:Cluster:Etdc: unknown; the keys are AnnounceIp, AnnouncePort, Etcd, EtcdPassword, EtcdPrefix, EtcdUser, Lease, Name, ReplicaAcks, Zone",
                "configuration RedKite:Cluster:Lease: expected a time such as 00:00:10",
                "Cluster needs a Port: clients and other nodes reach the node there",
                "Cluster needs a DataDirectory: what the node knows of its cluster is kept there",
                "Databases has no effect on a node of a Cluster: the setting cluster-databases says how many it has",
            ],
            failure.Faults);
    }

    private static IHost Build(Dictionary<string, string?> configuration, Action<IServiceCollection>? configure = null)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings());
        builder.Configuration.AddInMemoryCollection(configuration);
        builder.Services.AddRedKite();
        configure?.Invoke(builder.Services);
        return builder.Build();
    }

    private sealed class Visitor(RedKiteServer server, List<string> seen) : IHostedService
    {
        public Task StartAsync(CancellationToken cancellationToken)
        {
            seen.Add(server.Execute("PING").Text!);
            seen.Add(server.Execute("INCR", "visits").ToString());
            return Task.CompletedTask;
        }

        public Task StopAsync(CancellationToken cancellationToken)
        {
            seen.Add(server.Execute("PING").Text!);
            return Task.CompletedTask;
        }
    }

    private sealed class NoLifetime : IHostApplicationLifetime
    {
        public CancellationToken ApplicationStarted => default;

        public CancellationToken ApplicationStopping => default;

        public CancellationToken ApplicationStopped => default;

        public void StopApplication()
        {
        }
    }
}
