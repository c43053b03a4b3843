using System.IO.Compression;
using Microsoft.AspNetCore.Http;

namespace RedKite.Dashboard;

/// <summary>The page's files, embedded in the assembly.</summary>
internal static class WebFiles
{
    private static readonly Dictionary<string, string> Types = new()
    {
        [".html"] = "text/html; charset=utf-8",
        [".js"] = "text/javascript; charset=utf-8",
        [".css"] = "text/css; charset=utf-8",
        [".svg"] = "image/svg+xml",
    };

    internal static async Task SendAsync(HttpContext http, string name)
    {
        using Stream? file = name.Length == 0 ? null : typeof(WebFiles).Assembly.GetManifestResourceStream(name);
        if (file is null || !Types.TryGetValue(Path.GetExtension(name), out string? type))
        {
            http.Response.StatusCode = StatusCodes.Status404NotFound;
            return;
        }

        http.Response.ContentType = type;
        if (!http.Request.Headers.AcceptEncoding.ToString().Contains("gzip", StringComparison.OrdinalIgnoreCase))
        {
            await file.CopyToAsync(http.Response.Body, http.RequestAborted).ConfigureAwait(false);
            return;
        }

        http.Response.Headers.ContentEncoding = "gzip";
        using var packed = new MemoryStream();
        using (var pack = new GZipStream(packed, CompressionLevel.Fastest, leaveOpen: true)) await file.CopyToAsync(pack, http.RequestAborted).ConfigureAwait(false);
        await http.Response.Body.WriteAsync(packed.GetBuffer().AsMemory(0, (int)packed.Length), http.RequestAborted).ConfigureAwait(false);
    }
}
