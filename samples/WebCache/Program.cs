// An ASP.NET Core application whose caches are in a RedKite server in its own process: sessions, cached pages, a HybridCache, a rate limit that
// several requests share, health checks and the dashboard. Other processes may use the same data through the server's port.
using Microsoft.AspNetCore.OutputCaching;
using Microsoft.Extensions.Caching.Hybrid;
using RedKite;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
builder.Services.AddRedKite(options => options.Port = 0);
builder.Services.AddRedKiteCache();
builder.Services.AddRedKiteOutputCache();
builder.Services.AddOutputCache();
builder.Services.AddHybridCache();
builder.Services.AddSession();
builder.Services.AddHealthChecks().AddRedKite();
WebApplication app = builder.Build();
int rendered = 0, computed = 0;

// Ten requests a minute for each visitor. The window is a key that expires.
app.Use(async (context, next) =>
{
    RedKiteClient redis = context.RequestServices.GetRequiredService<RedKiteServer>().CreateClient();
    string window = $"requests:{context.Request.Headers["X-Visitor"]}";
    long requests = redis.Increment(window);
    if (requests == 1) redis.Expire(window, TimeSpan.FromMinutes(1));
    if (requests <= 10)
    {
        await next(context);
        return;
    }

    context.Response.StatusCode = StatusCodes.Status429TooManyRequests;
});
app.UseSession();
app.UseOutputCache();
app.MapHealthChecks("/health");
app.MapRedKiteDashboard("/redkite");

app.MapGet("/visits", (HttpContext context) =>
{
    int visits = (context.Session.GetInt32("visits") ?? 0) + 1;
    context.Session.SetInt32("visits", visits);
    return $"visit {visits}";
});
app.MapGet("/page", () => $"rendered {Interlocked.Increment(ref rendered)}").CacheOutput(policy => policy.Expire(TimeSpan.FromMinutes(1)).Tag("pages"));
app.MapPost("/page/changed", async (IOutputCacheStore cache) => await cache.EvictByTagAsync("pages", CancellationToken.None));
app.MapGet("/report", (HybridCache cache) => cache.GetOrCreateAsync("report", _ => ValueTask.FromResult($"computed {Interlocked.Increment(ref computed)}")));
await app.RunAsync();
