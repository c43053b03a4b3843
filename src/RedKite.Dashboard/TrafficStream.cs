using System.Buffers;
using System.Collections.Concurrent;
using System.Text;
using System.Text.Json;
using Microsoft.AspNetCore.Http;
using RedKite.Server.Sessions;

namespace RedKite.Dashboard;

/// <summary>Commands as they execute, while a viewer watches: the first ones of every second, without their arguments unless they are requested.</summary>
internal static class TrafficStream
{
    private const int PerSecond = 200;
    private const int WatchersMax = 4;
    private const int ArgumentsMax = 16;
    private const int BytesMax = 128;

    private static int _watchers;

    internal static async Task SendAsync(AdminSite site, HttpContext http)
    {
        if (Interlocked.Increment(ref _watchers) > WatchersMax)
        {
            Interlocked.Decrement(ref _watchers);
            http.Response.StatusCode = StatusCodes.Status429TooManyRequests;
            return;
        }

        try
        {
            await WatchAsync(site, http).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The view is closed, or the dashboard ends.
        }
        finally
        {
            Interlocked.Decrement(ref _watchers);
        }
    }

    private static async Task WatchAsync(AdminSite site, HttpContext http)
    {
        using var end = CancellationTokenSource.CreateLinkedTokenSource(http.RequestAborted, site.Stopping);
        http.Response.ContentType = "text/event-stream";
        if (HttpMethods.IsHead(http.Request.Method)) return; // nothing to watch
        await http.Response.Body.FlushAsync(end.Token).ConfigureAwait(false);
        bool showsValues = http.Request.Query["values"] == "1";
        var seen = new ConcurrentQueue<MonitoredCommand>();
        int room = PerSecond;
        using IDisposable watching = site.Server!.Engine.Monitors.Watch(command =>
        {
            if (Volatile.Read(ref room) > 0 && Interlocked.Decrement(ref room) >= 0) seen.Enqueue(command);
        });
        using var second = new PeriodicTimer(TimeSpan.FromSeconds(1));
        while (await second.WaitForNextTickAsync(end.Token).ConfigureAwait(false))
        {
            var text = new ArrayBufferWriter<byte>();
            text.Write("data: "u8);
            using (var json = new Utf8JsonWriter(text))
            {
                json.WriteStartArray();
                while (seen.TryDequeue(out MonitoredCommand? command)) Write(json, command, showsValues);
                json.WriteEndArray();
            }

            text.Write("\n\n"u8);
            Volatile.Write(ref room, PerSecond);
            await http.Response.Body.WriteAsync(text.WrittenMemory, end.Token).ConfigureAwait(false);
            await http.Response.Body.FlushAsync(end.Token).ConfigureAwait(false);
            if (!site.IsAllowedByHost(http) && !site.Logins.StillAllows(http)) return; // logged out
        }
    }

    private static void Write(Utf8JsonWriter json, MonitoredCommand command, bool showsValues)
    {
        json.WriteStartObject();
        json.WriteNumber("unix_us", command.UnixMicroseconds);
        json.WriteString("address", command.Address);
        json.WriteString("name", command.ClientName);
        json.WriteString("command", command.Name);
        json.WriteNumber("argument_count", command.Arguments.Length);
        if (showsValues)
        {
            json.WriteStartArray("arguments");
            foreach (byte[] argument in command.Arguments.Take(ArgumentsMax)) json.WriteStringValue(Encoding.UTF8.GetString(argument.AsSpan(0, Math.Min(argument.Length, BytesMax))));
            json.WriteEndArray();
        }

        json.WriteEndObject();
    }
}
