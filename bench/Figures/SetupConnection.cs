using System.Globalization;
using System.Text;
using RedKite.TestSupport;

namespace RedKite.Figures;

/// <summary>
/// A connection for setup and observation, one command and reply at a time. The measured load does not use it.
/// </summary>
/// <exception cref="System.Net.Sockets.SocketException">Nothing listens on the port.</exception>
internal sealed class SetupConnection(int port) : IDisposable
{
    // Loading and saving the largest data sets takes minutes.
    private const int TimeoutMs = 3_600_000;

    private readonly RespConnection _connection = RespConnection.Connect(port, TimeoutMs);

    /// <summary>
    /// The reply as text: a status, a bulk string or a number, empty for null, and for an array, which must be empty, its
    /// length.
    /// </summary>
    /// <exception cref="CannotMeasureException">The server replied with an error, with several values, or not at all.</exception>
    /// <exception cref="IOException">The server closed the connection.</exception>
    internal string Run(params string[] command)
    {
        RespValue reply = _connection.Run(Array.ConvertAll(command, Encoding.UTF8.GetBytes));
        if (reply.IsClosed) throw new IOException("the server closed the connection");
        if (reply.IsAggregate && reply.Items.Count == 0) return "0";
        if (reply.IsError || !(reply.IsNull || reply.IsString || reply.IsInteger)) throw new CannotMeasureException($"{string.Join(' ', command)}: {reply}");
        return reply.Payload is { } text ? Encoding.UTF8.GetString(text) : "";
    }

    /// <summary>A numeric field of INFO, or null if the server lacks it.</summary>
    internal long? ReadInfo(string section, string field)
    {
        string? line = Array.Find(Run("INFO", section).Split("\r\n"), line => line.StartsWith(field + ":", StringComparison.Ordinal));
        return line is not null ? long.Parse(line.AsSpan(field.Length + 1), CultureInfo.InvariantCulture) : null;
    }

    public void Dispose() => _connection.Dispose();
}
