using System.Diagnostics;
using System.Globalization;

namespace RedKite.EndToEnd.Tests.Hosts;

/// <summary>A test that is killed leaves its namespaces; the next one removes them, and only them.</summary>
public sealed class HostNetworkTests
{
    [Fact]
    public void Networks_of_dead_processes_are_removed()
    {
        HostNetwork.Skip();
        using var network = new HostNetwork(hosts: 1);
        int dead = DeadProcess();
        string name = $"rk{dead.ToString(CultureInfo.InvariantCulture)}";
        foreach (string each in (string[])[$"{name}sw", $"{name}h0", $"{name}th0", $"{name}other"]) Ip($"netns add {each}");
        try
        {
            HostNetwork.RemoveOfDead();
            Assert.Equal([$"{name}other"], HostNetwork.NamesOf(dead));
            Assert.Contains(network.NamespaceOf(0), HostNetwork.NamesOf(Environment.ProcessId));
        }
        finally
        {
            Ip($"netns del {name}other");
        }
    }

    private static int DeadProcess()
    {
        using Process process = Process.Start("true");
        process.WaitForExit();
        return process.Id;
    }

    private static void Ip(string arguments)
    {
        using Process process = Process.Start("ip", arguments);
        process.WaitForExit();
        Assert.Equal(0, process.ExitCode);
    }
}
