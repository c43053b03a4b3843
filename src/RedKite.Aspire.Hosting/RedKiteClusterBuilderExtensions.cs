using System.Globalization;
using Aspire.Hosting.ApplicationModel;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using RedKite.Aspire.Hosting;

namespace Aspire.Hosting;

/// <summary>Adds clusters of RedKite servers to an Aspire application. Its methods are those of AppHosts in TypeScript too.</summary>
public static class RedKiteClusterBuilderExtensions
{
    private const string EtcdProgram = "etcd";

    /// <summary>
    /// Adds a cluster: its nodes, each a RedKite server on this machine, which are named <c>name-1</c>, <c>name-2</c> and so on, and an etcd in which they agree, the program <c>etcd</c> on PATH, unless
    /// <see cref="WithEtcd"/> or <see cref="WithEtcdEndpoint"/> names another one. The slots are divided evenly among the first nodes; the others become their replicas.
    /// </summary>
    /// <param name="builder">The application.</param>
    /// <param name="name">The resource's name, which is the connection string's too.</param>
    /// <param name="shards">The number of shards.</param>
    /// <param name="replicasPerShard">The number of replicas of each shard, which take over when its primary is gone.</param>
    /// <param name="password">The password of the nodes' default user; null: it needs none, and only this machine reaches them.</param>
    /// <returns>The resource, for <c>WithReference</c> and <c>WaitFor</c>: it is healthy when all slots are served.</returns>
    [AspireExport]
    public static IResourceBuilder<RedKiteClusterResource> AddRedKiteCluster(
        this IDistributedApplicationBuilder builder, [ResourceName] string name, int shards = 3, int replicasPerShard = 0, IResourceBuilder<ParameterResource>? password = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrEmpty(name);
        ArgumentOutOfRangeException.ThrowIfNegativeOrZero(shards);
        ArgumentOutOfRangeException.ThrowIfNegative(replicasPerShard);
        // Another prefix each time, because nodes without a folder begin empty.
        var cluster = new RedKiteClusterResource(name, shards, string.Create(CultureInfo.InvariantCulture, $"/redkite/{name}-{Guid.NewGuid():N}/"));
        string check = name + "_check";
        builder.Services.AddHealthChecks().Add(new HealthCheckRegistration(check, _ => new RedKiteClusterHealthCheck(cluster), failureStatus: null, tags: null));
        IResourceBuilder<RedKiteClusterResource> added = builder.AddResource(cluster).WithHealthCheck(check);
        AddEtcd(builder, cluster);
        for (int i = 1; i <= shards * (1 + replicasPerShard); i++) AddNode(builder, cluster, string.Create(CultureInfo.InvariantCulture, $"{name}-{i}"), password);
        if (!builder.ExecutionContext.IsRunMode) return added;
        builder.Eventing.Subscribe<InitializeResourceEvent>(cluster, async (start, cancellation) =>
        {
            await start.Eventing.PublishAsync(new BeforeResourceStartedEvent(cluster, start.Services), cancellation).ConfigureAwait(false);
            await start.Notifications.PublishUpdateAsync(cluster, static snapshot => snapshot with { State = KnownResourceStates.Running, StartTimeStamp = DateTime.UtcNow }).ConfigureAwait(false);
        });
        return added;
    }

    /// <summary>Has the nodes agree in an etcd that is there already. Where they keep their data, its key begins with <c>/redkite/</c> and the cluster's name, otherwise with another word each time.</summary>
    /// <param name="builder">The cluster.</param>
    /// <param name="addresses">The members of etcd, as URLs with commas between them.</param>
    [AspireExport]
    public static IResourceBuilder<RedKiteClusterResource> WithEtcd(this IResourceBuilder<RedKiteClusterResource> builder, string addresses)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrEmpty(addresses);
        return With(builder, addresses);
    }

    /// <summary>Has the nodes agree in an etcd that is a resource of the application, such as a container.</summary>
    /// <param name="builder">The cluster.</param>
    /// <param name="endpoint">The endpoint of its clients.</param>
    [AspireExport]
    public static IResourceBuilder<RedKiteClusterResource> WithEtcdEndpoint(this IResourceBuilder<RedKiteClusterResource> builder, EndpointReference endpoint)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentNullException.ThrowIfNull(endpoint);
        return With(builder, endpoint.Property(EndpointProperty.Url));
    }

    /// <summary>Keeps the cluster: each node's data in a folder of its own, with an append-only file that is synced every second, and the data of its etcd.</summary>
    /// <param name="builder">The cluster.</param>
    /// <param name="path">The folder of these, relative to that of the AppHost; it is created when the nodes start.</param>
    [AspireExport]
    public static IResourceBuilder<RedKiteClusterResource> WithClusterDataFolder(this IResourceBuilder<RedKiteClusterResource> builder, string path)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrEmpty(path);
        RedKiteClusterResource cluster = builder.Resource;
        string folder = Path.GetFullPath(path, builder.ApplicationBuilder.AppHostDirectory);
        cluster.KeepIn(folder);
        foreach (RedKiteResource node in cluster.Nodes) node.DataFolder = Path.Combine(folder, node.Name);
        return builder;
    }

    /// <summary>Runs another program for the nodes than the one that is found, such as the single file.</summary>
    /// <param name="builder">The cluster.</param>
    /// <param name="path">The program, relative to the folder of the AppHost. A <c>.dll</c> is run by <c>dotnet</c>.</param>
    [AspireExport]
    public static IResourceBuilder<RedKiteClusterResource> WithClusterProgram(this IResourceBuilder<RedKiteClusterResource> builder, string path)
    {
        ArgumentNullException.ThrowIfNull(builder);
        foreach (RedKiteResource node in builder.Resource.Nodes) builder.ApplicationBuilder.CreateResourceBuilder(node).WithProgram(path);
        return builder;
    }

    private static IResourceBuilder<RedKiteClusterResource> With(IResourceBuilder<RedKiteClusterResource> builder, object addresses)
    {
        if (builder.Resource.OwnEtcd is { } own) builder.ApplicationBuilder.Resources.Remove(own);
        builder.Resource.UseOther(addresses);
        return builder;
    }

    private static void AddEtcd(IDistributedApplicationBuilder builder, RedKiteClusterResource cluster)
    {
        var etcd = new EtcdResource(cluster.Name + "-etcd", EtcdProgram, builder.AppHostDirectory);
        cluster.Use(etcd);
        if (builder.ExecutionContext.IsRunMode) builder.Eventing.Subscribe<BeforeResourceStartedEvent>(etcd, (_, _) => IsOnPath() ? Task.CompletedTask : throw NotFound(cluster));
        builder.AddResource(etcd).WithParentRelationship(cluster)
            .WithEndpoint(scheme: "http", name: EtcdResource.ClientEndpointName)
            .WithEndpoint(scheme: "http", name: EtcdResource.PeerEndpointName)
            .WithArgs(context => etcd.AddArguments(context.Args, cluster.DataFolder is { } folder ? Path.Combine(folder, EtcdProgram) : Directory.CreateTempSubdirectory("redkite-etcd-").FullName));
    }

    private static void AddNode(IDistributedApplicationBuilder builder, RedKiteClusterResource cluster, string name, IResourceBuilder<ParameterResource>? password)
    {
        IResourceBuilder<RedKiteResource> node = RedKiteBuilderExtensions.Add(builder, name, port: null, password, isNode: true)
            .WithParentRelationship(cluster)
            .WithArgs(context =>
            {
                // Clients are sent to the ports on which the nodes listen themselves.
                foreach (object argument in (object[])["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--cluster-etcd", cluster.Etcd!, "--cluster-etcd-prefix", cluster.EtcdPrefix]) context.Args.Add(argument);
            });
        cluster.Add(node.Resource);
        if (builder.ExecutionContext.IsRunMode) builder.Eventing.Subscribe<ResourceReadyEvent>(node.Resource, (_, cancellation) => ClusterForming.AssignAsync(cluster, node.Resource, cancellation));
    }

    private static bool IsOnPath() => (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator, StringSplitOptions.RemoveEmptyEntries)
        .Any(static folder => File.Exists(Path.Combine(folder, OperatingSystem.IsWindows() ? EtcdProgram + ".exe" : EtcdProgram)));

    private static DistributedApplicationException NotFound(RedKiteClusterResource cluster) => new(
        $"The program '{EtcdProgram}' of the cluster '{cluster.Name}' was not found. Install it (Debian: etcd-server), or name an etcd that is there with WithEtcd, or a resource of this application with WithEtcdEndpoint.");
}
