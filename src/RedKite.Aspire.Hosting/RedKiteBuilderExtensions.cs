using System.Globalization;
using Aspire.Hosting.ApplicationModel;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using RedKite.Aspire.Hosting;

namespace Aspire.Hosting;

/// <summary>Adds RedKite servers to an Aspire application. Its methods are those of AppHosts in TypeScript too.</summary>
public static class RedKiteBuilderExtensions
{
    private const string PasswordVariable = "REDKITE_PASSWORD";

    /// <summary>
    /// Adds a RedKite server: the program <c>redkite</c> on this machine, without a container. It is the local tool of the repository if its manifest
    /// has RedKite.Tool, otherwise the first <c>redkite</c> on PATH, otherwise the global tool; <see cref="WithProgram"/> names another one.
    /// </summary>
    /// <param name="builder">The application.</param>
    /// <param name="name">The resource's name, which is the connection string's too.</param>
    /// <param name="port">The port for clients on this machine; null: a free one.</param>
    /// <param name="password">The default user's password; null: it needs none, and only this machine reaches the server.</param>
    /// <returns>The resource, for <c>WithReference</c> and <c>WaitFor</c>: it is healthy when its data is loaded.</returns>
    [AspireExport]
    public static IResourceBuilder<RedKiteResource> AddRedKite(this IDistributedApplicationBuilder builder, [ResourceName] string name, int? port = null, IResourceBuilder<ParameterResource>? password = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrEmpty(name);
        return Add(builder, name, port, password, isNode: false);
    }

    /// <summary>Adds a server, which may be a node of a cluster.</summary>
    internal static IResourceBuilder<RedKiteResource> Add(IDistributedApplicationBuilder builder, string name, int? port, IResourceBuilder<ParameterResource>? password, bool isNode)
    {
        RedKiteProgram program = RedKiteProgram.Find(builder.AppHostDirectory, Environment.GetEnvironmentVariable("PATH"), Environment.GetFolderPath(Environment.SpecialFolder.UserProfile));
        var resource = new RedKiteResource(name, program, builder.AppHostDirectory) { PasswordParameter = password?.Resource, IsNode = isNode };
        string check = name + "_check";
        builder.Services.AddHealthChecks().Add(new HealthCheckRegistration(check, _ => new RedKiteHealthCheck(resource), failureStatus: null, tags: null));
        if (builder.ExecutionContext.IsRunMode) builder.Eventing.Subscribe<BeforeResourceStartedEvent>(resource, (_, _) => resource.Program.IsFound ? Task.CompletedTask : throw NotFound(resource));
        return builder.AddResource(resource)
            .WithEndpoint(port: port, scheme: "tcp", name: RedKiteResource.DataEndpointName)
            .WithHttpEndpoint(name: RedKiteResource.DashboardEndpointName)
            .WithUrlForEndpoint(RedKiteResource.DashboardEndpointName, url => url.DisplayText = "Dashboard")
            .WithArgs(context => AddArguments(resource, context.Args))
            .WithEnvironment(context =>
            {
                // Not an argument, which every user of the machine could read.
                if (resource.PasswordParameter is { } secret) context.EnvironmentVariables[PasswordVariable] = secret;
            })
            .WithHealthCheck(check);
    }

    /// <summary>Sets the default user's password.</summary>
    /// <param name="builder">The server.</param>
    /// <param name="password">The parameter with it; null: none is needed.</param>
    [AspireExport]
    public static IResourceBuilder<RedKiteResource> WithPassword(this IResourceBuilder<RedKiteResource> builder, IResourceBuilder<ParameterResource>? password)
    {
        ArgumentNullException.ThrowIfNull(builder);
        builder.Resource.PasswordParameter = password?.Resource;
        return builder;
    }

    /// <summary>Keeps the data in a folder, with an append-only file that is synced every second. Without it, the server begins empty each time.</summary>
    /// <param name="builder">The server.</param>
    /// <param name="path">The folder, relative to that of the AppHost; it is created when the server starts.</param>
    [AspireExport]
    public static IResourceBuilder<RedKiteResource> WithDataFolder(this IResourceBuilder<RedKiteResource> builder, string path)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrEmpty(path);
        builder.Resource.DataFolder = Path.GetFullPath(path, builder.ApplicationBuilder.AppHostDirectory);
        return builder;
    }

    /// <summary>Runs another program than the one that is found, such as the single file.</summary>
    /// <param name="builder">The server.</param>
    /// <param name="path">The program, relative to the folder of the AppHost. A <c>.dll</c> is run by <c>dotnet</c>.</param>
    [AspireExport]
    public static IResourceBuilder<RedKiteResource> WithProgram(this IResourceBuilder<RedKiteResource> builder, string path)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrEmpty(path);
        string full = Path.GetFullPath(path, builder.ApplicationBuilder.AppHostDirectory);
        bool isAssembly = full.EndsWith(".dll", StringComparison.OrdinalIgnoreCase);
        builder.Resource.Program = isAssembly ? new("dotnet", [full], File.Exists(full)) : new(full, [], File.Exists(full));
        return builder.WithCommand(builder.Resource.Program.Command);
    }

    private static void AddArguments(RedKiteResource resource, IList<object> arguments)
    {
        foreach (string argument in resource.Program.Arguments) arguments.Add(argument);
        arguments.Add("--port");
        arguments.Add(resource.PrimaryEndpoint.Property(EndpointProperty.TargetPort));
        arguments.Add("--admin-port");
        arguments.Add(resource.DashboardEndpoint.Property(EndpointProperty.TargetPort));
        foreach (string argument in Persistence(resource)) arguments.Add(argument);
    }

    // An empty folder, so that no file of another server is loaded.
    private static string[] Persistence(RedKiteResource resource)
    {
        if (resource.DataFolder is null) return ["--save", "", "--appendonly", "no", "--dir", Directory.CreateTempSubdirectory(string.Create(CultureInfo.InvariantCulture, $"redkite-{resource.Name}-")).FullName];
        Directory.CreateDirectory(resource.DataFolder);
        return ["--save", "", "--appendonly", "yes", "--dir", resource.DataFolder];
    }

    private static DistributedApplicationException NotFound(RedKiteResource resource) => new(
        $"The program '{resource.Program.Command}' of the resource '{resource.Name}' was not found. Install it with 'dotnet tool install --global RedKite.Tool', or as a local tool of the repository ('dotnet new tool-manifest', 'dotnet tool install RedKite.Tool'), or name its path with WithProgram.");
}
