using System.Diagnostics;
using System.Globalization;
using System.Net;

namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>
/// Hosts as network namespaces of this machine, on a switch in a namespace of its own. This process is on the network too, so clients and observers are outside of every host.
/// </summary>
internal sealed class HostNetwork : IDisposable
{
    private const string NameStart = "rk";
    private const int OutsideNumber = 254;
    private const string NoOne = "02:00:00:00:00:fe"; // a hardware address that nobody has

    private static readonly Lazy<string?> WhyNot = new(static () =>
    {
        try
        {
            RemoveOfDead();
            using var network = new HostNetwork(hosts: 1, "t");
            return null;
        }
        catch (InvalidOperationException failure)
        {
            return failure.Message;
        }
    });

    private readonly string _prefix;
    private readonly int _subnet;
    private readonly int _hosts;

    internal HostNetwork(int hosts) : this(hosts, "")
    {
    }

    // Named by the process, so that what one leaves that was killed can be told from what is in use.
    private HostNetwork(int hosts, string suffix)
    {
        (_hosts, _prefix, _subnet) = (hosts, NameStart + Environment.ProcessId.ToString(CultureInfo.InvariantCulture) + suffix, (Environment.ProcessId + suffix.Length) % 250);
        AppDomain.CurrentDomain.ProcessExit += OnProcessExit;
        try
        {
            Ip($"netns add {Switch}");
            Ip($"-n {Switch} link add br0 type bridge");
            Ip($"-n {Switch} link set br0 up");
            for (int i = 0; i < hosts; i++)
            {
                Ip($"netns add {NamespaceOf(i)}");
                Ip($"link add {PortOf(i)} netns {Switch} type veth peer name eth0 netns {NamespaceOf(i)}");
                Ip($"-n {Switch} link set {PortOf(i)} master br0 up");
                Ip($"-n {NamespaceOf(i)} addr add {AddressOf(i)}/24 dev eth0");
                Ip($"-n {NamespaceOf(i)} link set eth0 up");
                Ip($"-n {NamespaceOf(i)} link set lo up");
            }

            Ip($"link add {Outside} type veth peer name outside netns {Switch}");
            Ip($"-n {Switch} link set outside master br0 up");
            Ip($"addr add {Address(OutsideNumber)}/24 dev {Outside}");
            Ip($"link set {Outside} up");
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    private string Switch => _prefix + "sw";

    private string Outside => _prefix + "c";

    /// <summary>Skips the test where namespaces cannot be made, with the reason.</summary>
    internal static void Skip() => Assert.SkipWhen(WhyNot.Value is not null, $"no hosts can be made of network namespaces here: {WhyNot.Value}");

    internal string NamespaceOf(int host) => string.Create(CultureInfo.InvariantCulture, $"{_prefix}h{host}");

    internal IPAddress AddressOf(int host) => Address(host + 1);

    /// <summary>Removes the networks of processes that have ended without doing it. Also called by the first test that asks whether hosts can be made.</summary>
    internal static void RemoveOfDead()
    {
        if (Run("netns list", out string names) is not null) return;
        HashSet<string> prefixes = [];
        foreach (string line in names.Split('\n'))
        {
            string name = line.Split(' ')[0];
            if (!IsOfDead(name, out string prefix)) continue;
            Run($"netns del {name}", out _);
            prefixes.Add(prefix);
        }

        foreach (string prefix in prefixes) Run($"link del {prefix}c", out _); // usually it has ended with the other end
    }

    /// <summary>The names of all namespaces that belong to a process.</summary>
    internal static string[] NamesOf(int process)
    {
        Run("netns list", out string names);
        string start = NameStart + process.ToString(CultureInfo.InvariantCulture);
        return [.. names.Split('\n').Select(static line => line.Split(' ')[0]).Where(name => name.StartsWith(start, StringComparison.Ordinal) && !char.IsAsciiDigit(name[start.Length]))];
    }

    // A prefix is the start, the process and perhaps a letter; what follows it is "sw", or "h" and a number.
    private static bool IsOfDead(string name, out string prefix)
    {
        prefix = "";
        if (!name.StartsWith(NameStart, StringComparison.Ordinal)) return false;
        int end = NameStart.Length;
        while (end < name.Length && char.IsAsciiDigit(name[end])) end++;
        if (!int.TryParse(name.AsSpan(NameStart.Length, end - NameStart.Length), NumberStyles.None, CultureInfo.InvariantCulture, out int process)) return false;
        string rest = name[end..];
        if (rest.StartsWith('t')) (rest, end) = (rest[1..], end + 1);
        prefix = name[..end];
        bool isOurs = rest == "sw" || (rest.Length > 1 && rest[0] == 'h' && rest.AsSpan(1).IndexOfAnyExceptInRange('0', '9') < 0);
        return isOurs && !Directory.Exists($"/proc/{process.ToString(CultureInfo.InvariantCulture)}");
    }

    /// <summary>Nothing reaches the host, and nothing leaves it.</summary>
    internal void Cut(int host) => Ip($"-n {Switch} link set {PortOf(host)} down");

    /// <summary>What one host sends to another one is lost without a sign; the other direction works.</summary>
    internal void CutOneWay(int from, int to) => Ip($"-n {NamespaceOf(from)} neigh replace {AddressOf(to)} lladdr {NoOne} dev eth0 nud permanent");

    /// <summary>Everything works again.</summary>
    internal void Heal()
    {
        for (int i = 0; i < _hosts; i++)
        {
            Ip($"-n {Switch} link set {PortOf(i)} up");
            Ip($"-n {NamespaceOf(i)} neigh flush dev eth0 nud permanent");
        }
    }

    public void Dispose()
    {
        AppDomain.CurrentDomain.ProcessExit -= OnProcessExit;
        Remove();
    }

    private void OnProcessExit(object? sender, EventArgs arguments) => Remove();

    // Interfaces end with their namespace.
    private void Remove()
    {
        foreach (string arguments in (string[])[$"link del {Outside}", .. Enumerable.Range(0, _hosts).Select(i => $"netns del {NamespaceOf(i)}"), $"netns del {Switch}"]) TryIp(arguments);
    }

    private string PortOf(int host) => NamespaceOf(host);

    // Of the network that is reserved for measurements (RFC 2544).
    private IPAddress Address(int number) => new([198, 18, (byte)_subnet, (byte)number]);

    private static void Ip(string arguments)
    {
        if (TryIp(arguments) is { } failure) throw new InvalidOperationException($"ip {arguments}: {failure}");
    }

    private static string? TryIp(string arguments) => Run(arguments, out _);

    private static string? Run(string arguments, out string output)
    {
        output = "";
        try
        {
            using Process process = Process.Start(new ProcessStartInfo("ip", arguments) { RedirectStandardError = true, RedirectStandardOutput = true })!;
            Task<string> written = process.StandardOutput.ReadToEndAsync();
            string errors = process.StandardError.ReadToEnd();
            output = written.GetAwaiter().GetResult();
            process.WaitForExit();
            return process.ExitCode == 0 ? null : errors.Trim();
        }
        catch (System.ComponentModel.Win32Exception failure)
        {
            return failure.Message;
        }
    }
}
