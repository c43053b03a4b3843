using System.Reflection;
using Aspire.Hosting;
using Aspire.Hosting.ApplicationModel;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using RedKite.Aspire.Hosting;
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

    // Aspire's command line generates the methods of TypeScript from what is exported.
    [Fact]
    public void Every_method_is_exported_to_apphosts_in_typescript()
    {
        Assert.All(typeof(RedKiteBuilderExtensions).GetMethods(BindingFlags.Public | BindingFlags.Static | BindingFlags.DeclaredOnly), static method => Assert.NotNull(method.GetCustomAttribute<AspireExportAttribute>()));
        Assert.NotNull(typeof(RedKiteResource).GetCustomAttribute<AspireExportAttribute>());
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
}
