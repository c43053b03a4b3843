using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.DataProtection;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.OutputCaching;
using Microsoft.AspNetCore.SignalR;
using Microsoft.AspNetCore.SignalR.Client;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using StackExchange.Redis;

namespace RedKite.Libraries.Tests;

/// <summary>ASP.NET Core applications that keep their state in the server: sessions, output cache, data protection, SignalR.</summary>
public sealed class WebTests(Servers servers)
{
    public static TheoryData<string> Names => Servers.Names;

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Pages_are_cached_until_their_tag_is_evicted(string server)
    {
        string address = servers.On(server);
        int rendered = 0;
        await using WebApplication one = await StartAsync(Configure, Map), other = await StartAsync(Configure, Map);
        using var client = new HttpClient();
        string first = await client.GetStringAsync(Address(one, "/prices"), Cancellation);
        Assert.Equal(first, await client.GetStringAsync(Address(other, "/prices"), Cancellation));
        Assert.Equal(1, rendered);
        await other.Services.GetRequiredService<IOutputCacheStore>().EvictByTagAsync("prices", Cancellation);
        Assert.Equal("rendered 2", await client.GetStringAsync(Address(one, "/prices"), Cancellation));

        void Configure(WebApplicationBuilder builder)
        {
            builder.Services.AddOutputCache();
            builder.Services.AddStackExchangeRedisOutputCache(options => options.Configuration = address);
        }

        void Map(WebApplication app)
        {
            app.UseOutputCache();
            app.MapGet("/prices", () => $"rendered {Interlocked.Increment(ref rendered)}").CacheOutput(policy => policy.SetVaryByHost(false).Expire(TimeSpan.FromMinutes(5)).Tag("prices"));
        }
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Session_and_its_protected_cookie_are_valid_on_every_instance(string server)
    {
        string address = servers.On(server);
        await using ConnectionMultiplexer multiplexer = await ConnectionMultiplexer.ConnectAsync(address);
        await using WebApplication one = await StartAsync(Configure, Map), other = await StartAsync(Configure, Map);
        using var handler = new HttpClientHandler { CookieContainer = new CookieContainer() };
        using var client = new HttpClient(handler);
        Assert.Equal("1", await client.GetStringAsync(Address(one, "/visits"), Cancellation));
        Assert.Equal("2", await client.GetStringAsync(Address(other, "/visits"), Cancellation));
        Assert.Equal("3", await client.GetStringAsync(Address(one, "/visits"), Cancellation));
        string secret = one.Services.GetDataProtector("test").Protect("secret");
        Assert.Equal("secret", other.Services.GetDataProtector("test").Unprotect(secret));
        Assert.Equal(1, await multiplexer.GetDatabase().ListLengthAsync("keys"));

        void Configure(WebApplicationBuilder builder)
        {
            builder.Services.AddStackExchangeRedisCache(options => options.Configuration = address);
            builder.Services.AddDataProtection().SetApplicationName("shop").PersistKeysToStackExchangeRedis(multiplexer, "keys");
            builder.Services.AddSession();
        }

        void Map(WebApplication app)
        {
            app.UseSession();
            app.MapGet("/visits", (HttpContext context) =>
            {
                int visits = (context.Session.GetInt32("visits") ?? 0) + 1;
                context.Session.SetInt32("visits", visits);
                return visits.ToString(System.Globalization.CultureInfo.InvariantCulture);
            });
        }
    }

    [Theory]
    [MemberData(nameof(Names))]
    public async Task Messages_of_one_instance_reach_the_clients_of_another(string server)
    {
        string address = servers.On(server);
        await using WebApplication one = await StartAsync(Configure, Map), other = await StartAsync(Configure, Map);
        await using HubConnection ann = await ConnectAsync(one), bob = await ConnectAsync(other);
        var toAnn = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        var toBob = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        ann.On<string>("said", toAnn.SetResult);
        bob.On<string>("noted", toBob.SetResult);
        await bob.InvokeAsync("Say", "hello", Cancellation);
        Assert.Equal("hello", await toAnn.Task.WaitAsync(Cancellation));
        await ann.InvokeAsync("Join", "writers", Cancellation);
        await bob.InvokeAsync("Join", "writers", Cancellation);
        await ann.InvokeAsync("Note", "writers", "a note", Cancellation);
        Assert.Equal("a note", await toBob.Task.WaitAsync(Cancellation));

        void Configure(WebApplicationBuilder builder) => builder.Services.AddSignalR().AddStackExchangeRedis(address, options => options.Configuration.ChannelPrefix = RedisChannel.Literal("chat"));

        void Map(WebApplication app) => app.MapHub<ChatHub>("/chat");

        async Task<HubConnection> ConnectAsync(WebApplication app)
        {
            HubConnection connection = new HubConnectionBuilder().WithUrl(Address(app, "/chat")).Build();
            await connection.StartAsync(Cancellation);
            return connection;
        }
    }

    private static async Task<WebApplication> StartAsync(Action<WebApplicationBuilder> configure, Action<WebApplication> map)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        configure(builder);
        WebApplication app = builder.Build();
        map(app);
        await app.StartAsync(Cancellation);
        return app;
    }

    private static Uri Address(WebApplication app, string path) => new(new Uri(app.Urls.First()), path);

    private sealed class ChatHub : Hub
    {
        public Task Say(string text) => Clients.All.SendAsync("said", text);

        public Task Join(string group) => Groups.AddToGroupAsync(Context.ConnectionId, group);

        public Task Note(string group, string text) => Clients.Group(group).SendAsync("noted", text);
    }
}
