using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace RedKite.Aspire.Hosting;

/// <summary>One command to a server, on a connection of its own. No Redis client is needed for that.</summary>
internal static class ServerCall
{
    private const int ReplyBytesMax = 16 * 1024;
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    /// <summary>The reply: of a bulk string the text, otherwise the line.</summary>
    /// <exception cref="IOException">There is none, or it is too long.</exception>
    /// <exception cref="SocketException">Nothing listens.</exception>
    /// <exception cref="OperationCanceledException">It does not answer in time.</exception>
    internal static async Task<string> AskAsync(string host, int port, string? password, string[] command, CancellationToken cancellationToken)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        limit.CancelAfter(Patience);
        using var client = new TcpClient();
        await client.ConnectAsync(host, port, limit.Token).ConfigureAwait(false);
        using var reader = new StreamReader(client.GetStream(), Encoding.UTF8, detectEncodingFromByteOrderMarks: false, bufferSize: 1024);
        if (!string.IsNullOrEmpty(password))
        {
            string reply = await ExchangeAsync(client.GetStream(), reader, ["AUTH", password], limit.Token).ConfigureAwait(false);
            if (reply != "+OK") return reply;
        }

        return await ExchangeAsync(client.GetStream(), reader, command, limit.Token).ConfigureAwait(false);
    }

    /// <summary>What a health check says of a reply.</summary>
    /// <param name="fault">Says what is wrong with it; null: nothing.</param>
    internal static async Task<HealthCheckResult> CheckAsync(string host, int port, string? password, string[] command, Func<string, string?> fault, CancellationToken cancellationToken)
    {
        try
        {
            return fault(await AskAsync(host, port, password, command, cancellationToken).ConfigureAwait(false)) is { } wrong ? HealthCheckResult.Unhealthy(wrong) : HealthCheckResult.Healthy();
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

    private static async Task<string> ExchangeAsync(NetworkStream stream, StreamReader reader, string[] command, CancellationToken cancellationToken)
    {
        string request = string.Create(CultureInfo.InvariantCulture, $"*{command.Length}\r\n") + string.Concat(command.Select(static word => string.Create(CultureInfo.InvariantCulture, $"${Encoding.UTF8.GetByteCount(word)}\r\n{word}\r\n")));
        await stream.WriteAsync(Encoding.UTF8.GetBytes(request), cancellationToken).ConfigureAwait(false);
        string line = await ReadLineAsync(reader, cancellationToken).ConfigureAwait(false);
        if (!line.StartsWith('$') || !int.TryParse(line.AsSpan(1), NumberStyles.None, CultureInfo.InvariantCulture, out int length)) return line;
        if (length > ReplyBytesMax) throw new IOException("The server's reply is too long.");
        char[] text = new char[length + 2]; // of what is asked every character is a byte
        for (int read = 0; read < text.Length;)
        {
            int more = await reader.ReadAsync(text.AsMemory(read), cancellationToken).ConfigureAwait(false);
            read += more > 0 ? more : throw new IOException("The server closed the connection.");
        }

        return new string(text, 0, length);
    }

    private static async Task<string> ReadLineAsync(StreamReader reader, CancellationToken cancellationToken)
    {
        var line = new StringBuilder();
        char[] one = new char[1];
        while (line.Length < ReplyBytesMax)
        {
            if (await reader.ReadAsync(one, cancellationToken).ConfigureAwait(false) == 0) throw new IOException("The server closed the connection.");
            if (one[0] == '\n') return line.ToString().TrimEnd('\r');
            line.Append(one[0]);
        }

        throw new IOException("The server's reply is too long.");
    }
}
