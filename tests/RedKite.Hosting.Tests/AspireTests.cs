using System.Reflection;
using Aspire.Hosting;
using Aspire.Hosting.ApplicationModel;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using RedKite.Aspire.Hosting;
using RedKite.Server.Cluster.Store;
using ResourceHealthCheck = RedKite.Aspire.Hosting.RedKiteHealthCheck;

namespace RedKite.Hosting.Tests;

/// <summary>The server as a resource of an Aspire application, which is not run here: the sample's tests and those of the packages do that.</summary>
public sealed class AspireTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-aspire-").FullName;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task Resource_has_a_connection_string_endpoints_arguments_and_a_health_check()
    {
        IDistributedApplicationBuilder builder = DistributedApplication.CreateBuilder(new DistributedApplicationOptions { DisableDashboard = true });
        string program = Path.Combine(_folder, "redkite.dll");
        File.WriteAllText(program, "");
        IResourceBuilder<ParameterResource> password = builder.AddParameter("pw", "secret", secret: true);
        RedKiteResource cache = builder.AddRedKite("cache", port: 7000, password).WithDataFolder(Path.Combine(_folder, "data")).WithProgram(program).Resource;

        Assert.Equal("{cache.bindings.tcp.host}:{cache.bindings.tcp.port},password={pw.value}", cache.ConnectionStringExpression.ValueExpression);
        EndpointAnnotation[] endpoints = [.. cache.Annotations.OfType<EndpointAnnotation>()];
        Assert.Equal([("tcp", "tcp", 7000), ("dashboard", "http", (int?)null)], endpoints.Select(endpoint => (endpoint.Name, endpoint.UriScheme, endpoint.Port)));
        endpoints[0].AllocatedEndpoint = new AllocatedEndpoint(endpoints[0], "localhost", 7000, targetPortExpression: "41001");
        endpoints[1].AllocatedEndpoint = new AllocatedEndpoint(endpoints[1], "localhost", 7001, targetPortExpression: "41002");
        Assert.Equal("localhost:7000,password=secret", await ((IResourceWithConnectionString)cache).GetConnectionStringAsync(Token));

        var arguments = new List<object>();
        foreach (CommandLineArgsCallbackAnnotation annotation in cache.Annotations.OfType<CommandLineArgsCallbackAnnotation>()) await annotation.Callback(new CommandLineArgsCallbackContext(arguments, Token));
        Assert.Equal("dotnet", cache.Command);
        Assert.Equal(
            [program, "--port", "{cache.bindings.tcp.targetPort}", "--admin-port", "{cache.bindings.dashboard.targetPort}", "--save", "", "--appendonly", "yes", "--dir", Path.Combine(_folder, "data")],
            arguments.Select(argument => argument is EndpointReferenceExpression expression ? expression.ValueExpression : (string)argument));
        Assert.DoesNotContain("secret", arguments.OfType<string>());
        var environment = new Dictionary<string, object>();
        foreach (EnvironmentCallbackAnnotation annotation in cache.Annotations.OfType<EnvironmentCallbackAnnotation>()) await annotation.Callback(new EnvironmentCallbackContext(builder.ExecutionContext, environment, Token));
        Assert.Same(password.Resource, environment["REDKITE_PASSWORD"]);
        Assert.Single(cache.Annotations.OfType<HealthCheckAnnotation>());
    }

    [Fact]
    public async Task Cluster_has_nodes_that_know_their_etcd_and_a_connection_string_with_all_of_them()
    {
        IDistributedApplicationBuilder builder = DistributedApplication.CreateBuilder(new DistributedApplicationOptions { DisableDashboard = true });
        string program = Path.Combine(_folder, "redkite.dll");
        File.WriteAllText(program, "");
        IResourceBuilder<ParameterResource> password = builder.AddParameter("pw", "secret", secret: true);
        RedKiteClusterResource data = builder.AddRedKiteCluster("data", shards: 2, replicasPerShard: 1, password).WithClusterDataFolder(Path.Combine(_folder, "data")).WithClusterProgram(program).Resource;

        Assert.Equal(["data-1", "data-2", "data-3", "data-4"], data.Nodes.Select(static node => node.Name));
        Assert.Equal(string.Join(',', data.Nodes.Select(static node => $"{{{node.Name}.bindings.tcp.host}}:{{{node.Name}.bindings.tcp.port}}")) + ",password={pw.value}", data.ConnectionStringExpression.ValueExpression);
        Assert.Single(data.Annotations.OfType<HealthCheckAnnotation>());
        ExecutableResource etcd = builder.Resources.OfType<ExecutableResource>().Single(static resource => resource.Name == "data-etcd");
        Assert.Contains(Path.Combine(_folder, "data", "etcd"), await ArgumentsOf(etcd));
        string[] arguments = await ArgumentsOf(data.Nodes[2]);
        Assert.Equal(
            ["--dir", Path.Combine(_folder, "data", "data-3"), "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-etcd", "{data-etcd.bindings.client.url}", "--cluster-etcd-prefix", "/redkite/data/"],
            arguments[^10..]);
        Assert.DoesNotContain("secret", arguments);

        RedKiteClusterResource other = builder.AddRedKiteCluster("other", shards: 1).WithEtcd("http://etcd:2379").Resource;
        arguments = await ArgumentsOf(Assert.Single(other.Nodes));
        Assert.Equal(["--cluster-etcd", "http://etcd:2379"], arguments[^4..^2]);
        Assert.StartsWith("/redkite/other-", arguments[^1], StringComparison.Ordinal); // nothing is kept, so what an etcd has of it before does not count
        Assert.DoesNotContain(builder.Resources, static resource => resource.Name == "other-etcd");
    }

    [Fact]
    public async Task New_cluster_gets_its_slots_and_one_that_is_there_stays()
    {
        var data = new MemoryClusterData(TimeProvider.System);
        List<RedKiteServer> nodes = [];
        try
        {
            for (int i = 0; i < 3; i++)
            {
                var options = new RedKiteOptions { Port = 0, ClusterStore = () => new MemoryClusterStore(data), Cluster = new RedKiteClusterOptions { AnnounceIp = "127.0.0.1" }, DataDirectory = Path.Combine(_folder, $"{i}"), Persistence = RedKitePersistence.None };
                nodes.Add(await RedKiteServer.StartAsync(options, Token));
            }

            Assert.Equal("The cluster does not serve all slots.", (await ClusterForming.CheckAsync("127.0.0.1", nodes[0].Port, null, nodes: 3, Token)).Description);
            for (int i = 0; i < 2; i++)
            {
                while (!await ClusterForming.TryAssignAsync("127.0.0.1", nodes[i].Port, null, i, shards: 2, Token)) await Task.Delay(10, Token);
            }

            while ((await ClusterForming.CheckAsync("127.0.0.1", nodes[2].Port, null, nodes: 3, Token)).Status != HealthStatus.Healthy) await Task.Delay(10, Token); // it has joined
            string before = nodes[0].Execute("CLUSTER", "SLOTS").ToString();
            Assert.True(await ClusterForming.TryAssignAsync("127.0.0.1", nodes[0].Port, null, index: 0, shards: 3, Token));
            Assert.Equal(before, nodes[0].Execute("CLUSTER", "SLOTS").ToString());
            Assert.Equal(HealthStatus.Healthy, (await ResourceHealthCheck.CheckAsync("127.0.0.1", nodes[2].Port, null, Token, isNode: true)).Status);
        }
        finally
        {
            foreach (RedKiteServer node in nodes) await node.DisposeAsync();
        }
    }

    // Aspire's command line generates the methods of TypeScript from what is exported.
    [Fact]
    public void Every_method_is_exported_to_apphosts_in_typescript()
    {
        foreach (Type methods in (Type[])[typeof(RedKiteBuilderExtensions), typeof(RedKiteClusterBuilderExtensions)])
            Assert.All(methods.GetMethods(BindingFlags.Public | BindingFlags.Static | BindingFlags.DeclaredOnly), static method => Assert.NotNull(method.GetCustomAttribute<AspireExportAttribute>()));
        Assert.NotNull(typeof(RedKiteResource).GetCustomAttribute<AspireExportAttribute>());
        Assert.NotNull(typeof(RedKiteClusterResource).GetCustomAttribute<AspireExportAttribute>());
    }

    [Fact]
    public void Local_tool_comes_before_path_and_path_before_the_global_tool()
    {
        string nested = Directory.CreateDirectory(Path.Combine(_folder, "src", "AppHost")).FullName;
        string path = Directory.CreateDirectory(Path.Combine(_folder, "bin")).FullName;
        string tools = Directory.CreateDirectory(Path.Combine(_folder, "home", ".dotnet", "tools")).FullName;
        string name = OperatingSystem.IsWindows() ? "redkite.exe" : "redkite";
        Assert.Equal(("redkite", false), Found());
        File.WriteAllText(Path.Combine(tools, name), "");
        Assert.Equal((Path.Combine(tools, name), true), Found());
        File.WriteAllText(Path.Combine(path, name), "");
        Assert.Equal((Path.Combine(path, name), true), Found());
        File.WriteAllText(Path.Combine(_folder, "dotnet-tools.json"), """{ "version": 1, "tools": { "RedKite.Tool": { "version": "0.1.0", "commands": ["redkite"] } } }""");
        Assert.Equal(("dotnet", true), Found());
        string inner = Directory.CreateDirectory(Path.Combine(_folder, "src", ".config")).FullName;
        File.WriteAllText(Path.Combine(inner, "dotnet-tools.json"), """{ "version": 1, "isRoot": true, "tools": { } }""");
        Assert.Equal((Path.Combine(path, name), true), Found());

        (string, bool) Found()
        {
            RedKiteProgram program = RedKiteProgram.Find(nested, path, Path.Combine(_folder, "home"));
            return (program.Command, program.IsFound);
        }
    }

    [Fact]
    public async Task Health_check_needs_the_password_and_loaded_data()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Password = "secret" }, Token);
        Assert.Equal(HealthStatus.Healthy, (await ResourceHealthCheck.CheckAsync("127.0.0.1", server.Port, "secret", Token)).Status);
        Assert.StartsWith("-WRONGPASS", (await ResourceHealthCheck.CheckAsync("127.0.0.1", server.Port, "other", Token)).Description, StringComparison.Ordinal);
        Assert.StartsWith("-NOAUTH", (await ResourceHealthCheck.CheckAsync("127.0.0.1", server.Port, null, Token)).Description, StringComparison.Ordinal);
        int port = server.Port;
        await server.StopAsync();
        Assert.Equal(HealthStatus.Unhealthy, (await ResourceHealthCheck.CheckAsync("127.0.0.1", port, null, Token)).Status);
    }

    private static async Task<string[]> ArgumentsOf(ExecutableResource resource)
    {
        var arguments = new List<object>();
        foreach (CommandLineArgsCallbackAnnotation annotation in resource.Annotations.OfType<CommandLineArgsCallbackAnnotation>()) await annotation.Callback(new CommandLineArgsCallbackContext(arguments, Token));
        return [.. arguments.Select(static argument => argument is IManifestExpressionProvider expression ? expression.ValueExpression : (string)argument)];
    }
}
