using System.Net.Sockets;

namespace RedKite.Net;

/// <summary>The system's text for a failed call on a socket.</summary>
internal static class SocketFailure
{
    /// <summary>
    /// The reason alone. The runtime's message of a failed connection ends with the address that it tried, in the form of IPv6 ("Connection refused
    /// [::ffff:127.0.0.1]:6379"). Callers add the address as the user gave it.
    /// </summary>
    internal static string ReasonOf(Exception failure) => failure is SocketException socket ? new SocketException((int)socket.SocketErrorCode).Message : failure.Message;
}
