using System.Net;
using System.Net.Sockets;

namespace RedKite.Net;

/// <summary>One end of a connection: an IP address and port, or the path of a Unix socket.</summary>
internal readonly struct PeerAddress
{
    private readonly object? _address; // an IPAddress or a path
    private readonly int _port;

    internal PeerAddress(IPAddress address, int port)
    {
        _address = IPAddress.Loopback.Equals(address) ? IPAddress.Loopback : address; // one object for the most common one
        _port = port;
    }

    private PeerAddress(string path) => _address = path;

    /// <summary>Whether the connection came through a Unix socket.</summary>
    public bool IsUnix => _address is string;

    /// <summary>Whether the peer is on this machine.</summary>
    public bool IsLoopback => _address is not IPAddress ip || IPAddress.IsLoopback(ip.IsIPv4MappedToIPv6 ? ip.MapToIPv4() : ip);

    /// <summary>The address without the port, or the path.</summary>
    public string Host => _address?.ToString() ?? "";

    /// <summary>What one machine may have as a whole: an IPv4 address, or an IPv6 network of 64 bits.</summary>
    internal string Source => _address is IPAddress ip ? SourceOf(ip) : Host;

    internal static string SourceOf(IPAddress address) =>
        address.IsIPv4MappedToIPv6 ? address.MapToIPv4().ToString()
        : address.AddressFamily == AddressFamily.InterNetworkV6 ? Convert.ToHexString(address.GetAddressBytes().AsSpan(0, 8))
        : address.ToString();

    internal static PeerAddress Unix(string path) => new(path);

    internal static PeerAddress From(EndPoint? endPoint, string? unixPath) =>
        endPoint is IPEndPoint ip ? new PeerAddress(ip.Address, ip.Port) : Unix(unixPath ?? "");

    /// <summary>The address as Redis writes it: 127.0.0.1:6379, [::1]:6379 or /path:0.</summary>
    public override string ToString() => _address switch
    {
        IPAddress { AddressFamily: AddressFamily.InterNetworkV6 } ip => $"[{ip}]:{_port}",
        IPAddress ip => $"{ip}:{_port}",
        _ => $"{_address}:0",
    };
}
