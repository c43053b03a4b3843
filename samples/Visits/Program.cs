// The web application of the sample AppHost: it knows a Redis server's connection string, and not that the server is RedKite.
using StackExchange.Redis;

WebApplicationBuilder builder = WebApplication.CreateBuilder(args);
string address = builder.Configuration.GetConnectionString("cache") ?? throw new InvalidOperationException("There is no connection string 'cache'.");
builder.Services.AddSingleton<IConnectionMultiplexer>(_ => ConnectionMultiplexer.Connect(address));
builder.Services.AddHealthChecks();

await using WebApplication app = builder.Build();
app.MapGet("/", async (IConnectionMultiplexer redis) => $"visit {await redis.GetDatabase().StringIncrementAsync("visits")}");
app.MapHealthChecks("/health");
await app.RunAsync();
