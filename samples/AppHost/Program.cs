// An Aspire application: a RedKite server without Docker, and a web application that gets its connection string from there. The server is the tool redkite, or the
// program that --redkite names; its data is kept below this folder, or where --data says. With --cluster=yes it is a cluster, which needs the program etcd.
IDistributedApplicationBuilder builder = DistributedApplication.CreateBuilder(args);

IResourceBuilder<ParameterResource> password = builder.AddParameter("cache-password", "change-me", secret: true);
string data = builder.Configuration["data"] ?? "data";
IResourceBuilder<IResourceWithConnectionString> cache;
if (builder.Configuration["cluster"] is null)
{
    IResourceBuilder<RedKiteResource> server = builder.AddRedKite("cache", password: password).WithDataFolder(data);
    if (builder.Configuration["redkite"] is { } program) server.WithProgram(program);
    cache = server;
}
else
{
    IResourceBuilder<RedKiteClusterResource> cluster = builder.AddRedKiteCluster("cache", shards: 2, replicasPerShard: 1, password).WithClusterDataFolder(data);
    if (builder.Configuration["redkite"] is { } program) cluster.WithClusterProgram(program);
    cache = cluster;
}

builder.AddProject<Projects.Visits>("visits").WithHttpEndpoint().WithHttpHealthCheck("/health").WithReference(cache).WaitFor(cache);

builder.Build().Run();
