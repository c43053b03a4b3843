using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.RegularExpressions;
using RedKite.Figures.Guards;

namespace RedKite.Figures.Diagnostics;

/// <summary>The number of the ten hottest keys that BUSYKEYS reports after a minute of reads by Zipf's distribution.</summary>
internal static partial class HotKeysFound
{
    internal const string Name = "hotkeys";

    private const int Keys = 1_000_000;
    private const int TraceRequests = 4_000_000; // repeated until the time is over
    private const int Hottest = 10;
    private const int FoundMin = 9;
    private const int LoadSeconds = 60;
    private const int Batch = 50;
    private const int Seed = 20261125;
    private const double Exponent = 1;

    internal static void Measure(ServerKind kind, Options options, Report report)
    {
        int keys = options.Keys ?? Keys;
        int[] trace = CacheTrace.Create(keys, TraceRequests, Exponent, Seed);
        var expected = trace.GroupBy(key => key).OrderByDescending(group => group.Count()).Take(Hottest).Select(group => KeyName(group.Key)).ToHashSet();
        using ServerUnderTest server = ServerUnderTest.Start(kind);
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        socket.Connect(IPAddress.Loopback, server.Port);
        Console.Error.WriteLine($"{Name}: {LoadSeconds} seconds of GET");
        long requests = 0;
        for (var clock = Stopwatch.StartNew(); clock.Elapsed.TotalSeconds < LoadSeconds; requests += Batch)
        {
            var request = new StringBuilder();
            for (int i = 0; i < Batch; i++) request.Append(CultureInfo.InvariantCulture, $"GET {KeyName(trace[(requests + i) % trace.Length])}\r\n");
            Exchange(socket, request.ToString(), replies => replies.Length == Batch * "$-1\r\n".Length);
        }

        string reply = Exchange(socket, FormattableString.Invariant($"BUSYKEYS COUNT {Hottest}\r\nPING\r\n"), replies => replies.EndsWith("+PONG\r\n", StringComparison.Ordinal));
        int found = NamedKey().Matches(reply).Count(match => expected.Contains(match.Groups[1].Value));
        var table = new Table("hottest keys", new("keys"), new("requests"), new("requests/s"), new("of the ten hottest, found"));
        table.Add(keys, requests, requests / LoadSeconds, found);
        report.Tables.Add(table);
        report.Targets.Add(Target.AtLeast(FoundMin, $"of the {Hottest} hottest of {keys.ToString("N0", CultureInfo.InvariantCulture)} keys, found by BUSYKEYS", new Spread([found])));
    }

    private static string Exchange(Socket socket, string request, Func<string, bool> isWhole)
    {
        socket.Send(Encoding.ASCII.GetBytes(request));
        byte[] buffer = new byte[64 * 1024];
        string replies = "";
        while (!isWhole(replies))
        {
            int read = socket.Receive(buffer);
            if (read == 0) throw new CannotMeasureException("the server closed the connection");
            replies += Encoding.ASCII.GetString(buffer, 0, read);
        }

        return replies;
    }

    private static string KeyName(int key) => key.ToString("D8", CultureInfo.InvariantCulture);

    [GeneratedRegex(@"\$3\r\nkey\r\n\$8\r\n(\d{8})\r\n", RegexOptions.CultureInvariant)]
    private static partial Regex NamedKey();
}
