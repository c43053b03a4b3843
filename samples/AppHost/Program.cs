// An Aspire application: a RedKite server without Docker, and a web application that gets its connection string from there. The server is the tool redkite, or the
// program that --redkite names; its data is kept below this folder, or where --data says.
IDistributedApplicationBuilder builder = DistributedApplication.CreateBuilder(args);

IResourceBuilder<ParameterResource> password = builder.AddParameter("cache-password", "change-me", secret: true);
IResourceBuilder<RedKiteResource> cache = builder.AddRedKite("cache", password: password).WithDataFolder(builder.Configuration["data"] ?? "data");
if (builder.Configuration["redkite"] is { } program) cache.WithProgram(program);

builder.AddProject<Projects.Visits>("visits").WithHttpEndpoint().WithHttpHealthCheck("/health").WithReference(cache).WaitFor(cache);

builder.Build().Run();
