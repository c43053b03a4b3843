using System.Globalization;
using Microsoft.AspNetCore.Http;
using RedKite.Server.Diagnostics.Package;

namespace RedKite.Dashboard;

/// <summary>Builds a debug package and sends it. Only one is built at a time. `?log=SECONDS` says how long it watches the log.</summary>
internal static class PackageDownload
{
    private const int ChunkBytes = 64 * 1024;

    internal static async Task SendAsync(AdminSite site, HttpContext http)
    {
        long logSeconds = AdminEndpoints.Number(http, "log", (long)PackageOptions.Default.Log.TotalSeconds);
        if (logSeconds < 0 || logSeconds > PackageOptions.LogMax.TotalSeconds)
        {
            http.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        if (site.Server!.Packages is not { } packages || !packages.TryReserve())
        {
            http.Response.StatusCode = StatusCodes.Status409Conflict; // one is being built
            return;
        }

        var built = new TaskCompletionSource<(byte[]? Package, string? Error)>(TaskCreationOptions.RunContinuationsAsynchronously);
        packages.Begin(PackageOptions.Default with { Log = TimeSpan.FromSeconds(logSeconds) }, (package, error) => built.TrySetResult((package, error)));
        (byte[]? package, string? error) = await built.Task.WaitAsync(http.RequestAborted).ConfigureAwait(false);
        if (package is null)
        {
            http.Response.StatusCode = StatusCodes.Status500InternalServerError;
            await http.Response.WriteAsync(error ?? "", http.RequestAborted).ConfigureAwait(false);
            return;
        }

        http.Response.ContentType = "application/zip";
        http.Response.ContentLength = package.Length;
        http.Response.Headers.ContentDisposition = string.Create(CultureInfo.InvariantCulture, $"attachment; filename=\"redkite-package-{DateTime.UtcNow:yyyyMMdd-HHmmss}.zip\"");
        for (int sent = 0; sent < package.Length; sent += ChunkBytes)
        {
            await http.Response.Body.WriteAsync(package.AsMemory(sent, Math.Min(ChunkBytes, package.Length - sent)), http.RequestAborted).ConfigureAwait(false);
        }
    }
}
