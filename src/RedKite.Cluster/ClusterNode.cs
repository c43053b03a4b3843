using System.Buffers;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;

namespace RedKite.Server.Cluster;

/// <summary>A node of the cluster.</summary>
/// <param name="Id">40 hexadecimal digits.</param>
internal sealed record ClusterNode(string Id)
{
    /// <summary>The length of a node's and of a shard's id.</summary>
    internal const int IdLength = 40;

    private static readonly SearchValues<char> Digits = SearchValues.Create("0123456789abcdef");

    /// <summary>Where clients reach it; empty: not known.</summary>
    internal string Ip { get; init; } = "";

    internal int Port { get; init; }

    /// <summary>The port for clients with TLS; 0: none that is known.</summary>
    internal int TlsPort { get; init; }

    /// <summary>The announced port of a cluster bus, on which no node of RedKite listens; 0: the usual one.</summary>
    internal int BusPort { get; init; }

    internal string HostName { get; init; } = "";

    /// <summary>The name that it announces for people.</summary>
    internal string Name { get; init; } = "";

    internal string Zone { get; init; } = "";

    internal required string ShardId { get; init; }

    /// <summary>The node whose data it has; null: it is a primary.</summary>
    internal string? PrimaryId { get; init; }

    internal long Epoch { get; init; }

    internal bool IsPrimary => PrimaryId is null;

    /// <summary>Where it is reached, as host and port.</summary>
    internal string Address
    {
        get
        {
            string host = Ip.Length > 0 ? Ip : HostName;
            return string.Create(CultureInfo.InvariantCulture, $"{(host.Contains(':', StringComparison.Ordinal) ? $"[{host}]" : host)}:{(Port != 0 ? Port : TlsPort)}");
        }
    }

    internal static bool IsId(string text) => text.Length == IdLength && text.AsSpan().IndexOfAnyExcept(Digits) < 0;

    internal static string NewId() => RandomNumberGenerator.GetHexString(IdLength, lowercase: true);

    /// <summary>The id of the shard of a primary for which nothing says another: all nodes derive the same.</summary>
    internal static string ShardIdOf(string primaryId) => Convert.ToHexStringLower(SHA256.HashData(Encoding.ASCII.GetBytes("shard of " + primaryId)))[..IdLength];
}
