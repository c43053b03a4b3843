using System.Net.Sockets;
using System.Text;

namespace RedKite.Host;

/// <summary>
/// Tells a service manager, systemd with Type=notify, what the server does: one datagram to the socket that NOTIFY_SOCKET names. Without it, and
/// if the manager does not listen, nothing happens.
/// </summary>
internal static class ServiceNotification
{
    private static readonly string? Address = Environment.GetEnvironmentVariable("NOTIFY_SOCKET");

    internal static void Loading() => Send("STATUS=Loading the data");

    internal static void Ready() => Send("READY=1\nSTATUS=Ready to accept connections");

    internal static void Stopping() => Send("STOPPING=1\nSTATUS=Stopping");

    private static void Send(string state)
    {
        if (string.IsNullOrEmpty(Address) || !OperatingSystem.IsLinux()) return;
        try
        {
            using var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
            socket.SendTo(Encoding.UTF8.GetBytes(state), new UnixDomainSocketEndPoint(Address[0] == '@' ? '\0' + Address[1..] : Address)); // @ is Linux's abstract namespace
        }
        catch (Exception failure) when (failure is SocketException or ArgumentException)
        {
            // The server is worth more than its manager's knowledge of it.
        }
    }
}
