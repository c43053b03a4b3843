using System.Net.Sockets;
using System.Text;
using Aspire.Hosting.ApplicationModel;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RedKite.Aspire.Hosting;

/// <summary>Whether the server answers a command on data at its endpoint, which it refuses while it loads. No Redis client is needed for that.</summary>
internal sealed class RedKiteHealthCheck(RedKiteResource resource) : IHealthCheck
{
    private const int ReplyBytesMax = 512;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    public async Task<HealthCheckResult> CheckHealthAsync(HealthCheckContext context, CancellationToken cancellationToken = default)
    {
        if (!resource.PrimaryEndpoint.IsAllocated) return HealthCheckResult.Unhealthy("The server has no endpoint yet.");
        string? password = resource.PasswordParameter is { } parameter ? await parameter.GetValueAsync(cancellationToken).ConfigureAwait(false) : null;
        return await CheckAsync(resource.PrimaryEndpoint.Host, resource.PrimaryEndpoint.Port, password, cancellationToken).ConfigureAwait(false);
    }

    internal static async Task<HealthCheckResult> CheckAsync(string host, int port, string? password, CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(Patience);
        try
        {
            using var client = new TcpClient();
            await client.ConnectAsync(host, port, limit.Token).ConfigureAwait(false);
            NetworkStream stream = client.GetStream();
            string replies = "";
            if (!string.IsNullOrEmpty(password))
            {
                await stream.WriteAsync(Request("AUTH", password), limit.Token).ConfigureAwait(false);
                replies = await ReadLineAsync(stream, limit.Token).ConfigureAwait(false);
                if (replies != "+OK") return HealthCheckResult.Unhealthy(replies);
            }

            // A command on data, because PING is answered while the data is loaded.
            await stream.WriteAsync(Request("EXISTS", ""), limit.Token).ConfigureAwait(false);
            replies = await ReadLineAsync(stream, limit.Token).ConfigureAwait(false);
            return replies.StartsWith(':') ? HealthCheckResult.Healthy() : HealthCheckResult.Unhealthy(replies);
        }
        catch (Exception failure) when (failure is SocketException or IOException)
        {
            return HealthCheckResult.Unhealthy(failure.Message, failure);
        }
        catch (OperationCanceledException failure) when (!cancellationToken.IsCancellationRequested)
        {
            return HealthCheckResult.Unhealthy("The server does not answer.", failure);
        }
    }

    private static byte[] Request(string command, string argument) =>
        Encoding.UTF8.GetBytes($"*2\r\n${command.Length}\r\n{command}\r\n${Encoding.UTF8.GetByteCount(argument)}\r\n{argument}\r\n");

    private static async Task<string> ReadLineAsync(NetworkStream stream, CancellationToken cancellationToken)
    {
        var buffer = new byte[ReplyBytesMax];
        int length = 0;
        while (length < buffer.Length)
        {
            int read = await stream.ReadAsync(buffer.AsMemory(length), cancellationToken).ConfigureAwait(false);
            if (read == 0) throw new IOException("The server closed the connection.");
            length += read;
            if (buffer.AsSpan(0, length).IndexOf("\r\n"u8) is >= 0 and int end) return Encoding.UTF8.GetString(buffer, 0, end);
        }

        throw new IOException("The server's reply is too long.");
    }
}
