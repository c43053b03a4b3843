using System.Xml.Linq;
using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>The packages, installed from a folder into fresh projects that know nothing of this repository.</summary>
public sealed class PackageTests : IDisposable
{
    private readonly PackageFeed _feed = new();

    public void Dispose() => _feed.Dispose();

    [Fact]
    public void Library_is_installed_and_runs_in_a_console_program()
    {
        _feed.Pack("RedKite.Server");
        Assert.Equal(["RedKite"], _feed.Names);
        IEnumerable<XElement> dependencies = _feed.Nuspec("RedKite").Descendants().Where(element => element.Name.LocalName == "dependency");
        Assert.Equal(["dotnet-etcd", "KeraLua", "System.IO.Hashing"], dependencies.Select(dependency => (string?)dependency.Attribute("id")));
        string folder = _feed.NewProject("console", _feed.Project("Microsoft.NET.Sdk", "RedKite"), ("Program.cs", """
            using RedKite;

            await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 });
            server.Execute("SET", "greeting", "hello");
            RedKiteReply reply = server.Execute("EVAL", "return redis.call('GET', KEYS[1]) .. ' from Lua'", "1", "greeting");
            Console.WriteLine($"{reply} {server.Port != 0}");
            """));
        Assert.Equal("hello from Lua True", _feed.Run(folder).Trim());
    }

    // Warnings are errors, so the analysis of what is trimmed has found nothing in the package.
    [Fact]
    [Long]
    public void Trimmed_program_is_published_without_a_warning_and_runs()
    {
        _feed.Pack("RedKite.Server");
        string project = _feed.Project("Microsoft.NET.Sdk", "RedKite").Replace("</PropertyGroup>", "<RuntimeIdentifier>$(NETCoreSdkRuntimeIdentifier)</RuntimeIdentifier><SelfContained>true</SelfContained><PublishTrimmed>true</PublishTrimmed><TrimmerSingleWarn>false</TrimmerSingleWarn></PropertyGroup>", StringComparison.Ordinal);
        string folder = _feed.NewProject("trimmed", project, ("Program.cs", """
            using RedKite;

            var options = new RedKiteOptions { Port = 0 };
            options.Commands.Add("SHOP.COUNT", static (RedKiteCommandKeys keys, [RedKiteKey] string key, long by) => keys.Increment(key, by));
            await using RedKiteServer server = await RedKiteServer.StartAsync(options);
            Console.WriteLine($"{server.Execute("SHOP.COUNT", "visits", "5")} {server.CreateClient().Eval("return redis.call('GET', KEYS[1])", ["visits"])}");
            """));
        Assert.Equal("5 5", _feed.Execute(_feed.Publish(folder)).Trim());
    }

    [Fact]
    [Long]
    public void Every_package_has_what_it_promises_and_there_is_no_other()
    {
        _feed.PackAll();
        Assert.Equal(["RedKite", "RedKite.Aspire.Hosting", "RedKite.Hosting", .. _feed.HasTesting ? (string[])["RedKite.Testing"] : [], "RedKite.Tool"], _feed.Names);
        foreach (string name in _feed.Names)
        {
            XElement metadata = _feed.Nuspec(name).Root!.Elements().First();
            string Text(string element) => metadata.Elements().Single(item => item.Name.LocalName == element).Value;
            Assert.Equal(("MIT", "README.md", "icon.png"), (Text("license"), Text("readme"), Text("icon")));
            Assert.NotEmpty(Text("description"));
            Assert.NotEmpty(Text("tags"));
            Assert.True(_feed.Has(name, "README.md") && _feed.Has(name, "icon.png") && _feed.HasSymbols(name), name);
            Assert.Equal(File.ReadAllText(Path.Combine(RepositoryRoot.Path, "src", name == "RedKite" ? "RedKite.Server" : name, "README.md")), _feed.Text(name, "README.md")); // DocumentationTests reads it
        }

        Assert.True(_feed.Has("RedKite", "lib/net10.0/RedKite.Server.xml") && _feed.Has("RedKite.Hosting", "lib/net10.0/RedKite.Hosting.xml") && _feed.Has("RedKite.Hosting", "lib/net10.0/RedKite.Dashboard.dll"));
        Assert.Equal(["RedKite"], _feed.Dependencies("RedKite.Hosting"));
        Assert.Equal(["Aspire.Hosting"], _feed.Dependencies("RedKite.Aspire.Hosting"));
        Assert.Empty(_feed.FilesWithText(RepositoryRoot.Path)); // no path of this machine

        string web = _feed.NewProject("web", _feed.Project("Microsoft.NET.Sdk.Web", "RedKite.Hosting"), ("Program.cs", """
            using RedKite;

            WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
            builder.Configuration["RedKite:Port"] = "none";
            builder.WebHost.UseUrls("http://127.0.0.1:0");
            builder.Logging.ClearProviders();
            builder.Services.AddRedKite(options => options.Databases = 2);
            builder.Services.AddHealthChecks().AddRedKite();
            await using WebApplication app = builder.Build();
            app.MapHealthChecks("/health");
            app.MapRedKiteDashboard("/redkite");
            app.MapGet("/", (RedKiteServer server) => server.Execute("INCR", "visits").Integer);
            await app.StartAsync();
            using var client = new HttpClient { BaseAddress = new Uri(app.Urls.First()) };
            Console.WriteLine($"{await client.GetStringAsync("/")} {await client.GetStringAsync("/health")} {(await client.GetStringAsync("/redkite/")).Contains("<title>RedKite</title>")}");
            await app.StopAsync();
            """));
        Assert.Equal("1 Healthy True", _feed.Run(web).Trim());

        string tests = _feed.NewProject("tests", _feed.Project("Microsoft.NET.Sdk", "RedKite", "xunit.v3:3.2.2"), ("Tests.cs", """
            using RedKite;
            using Xunit;

            public class Tests
            {
                [Fact]
                public async Task Counts()
                {
                    await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = null }, TestContext.Current.CancellationToken);
                    Assert.Equal(1, server.Execute("INCR", "n").Integer);
                }
            }
            """));
        Assert.Contains("Total: 1, Errors: 0, Failed: 0", _feed.Run(tests), StringComparison.Ordinal);

        string tool = _feed.InstallTool();
        Assert.StartsWith("RedKite v=0.1.0", _feed.Execute(tool, "--version"), StringComparison.Ordinal);

        string appHost = _feed.NewProject("apphost", _feed.AppHost(), ("Program.cs", """
            var builder = DistributedApplication.CreateBuilder(new DistributedApplicationOptions { Args = args, DisableDashboard = true });
            var cache = builder.AddRedKite("cache", password: builder.AddParameter("pw", "secret", secret: true)).WithDataFolder("data").WithProgram(args[0]);
            await using var app = builder.Build();
            await app.StartAsync();
            await app.ResourceNotifications.WaitForResourceHealthyAsync("cache");
            Console.WriteLine($"healthy at {await cache.Resource.ConnectionStringExpression.GetValueAsync(default)};");
            await app.StopAsync();
            """));
        Assert.Matches("healthy at localhost:[0-9]+,password=secret;", _feed.Run(appHost, tool));

        using var server = ServerProcess.Start(new ServerProgram("tool", $"{tool} --port {{port}} --admin-port 0", IsRedKite: true));
        using RespConnection connection = RespConnection.Connect(server.Port);
        connection.Run("PING").IsSimple("PONG");
    }
}
