using RedKite.Figures;

namespace RedKite.Profile;

/// <summary>A server's threads according to the kernel: their names and their time on a core.</summary>
internal sealed class ServerThreads
{
    private readonly Dictionary<int, long> _onCpuNs = [];

    private ServerThreads()
    {
    }

    /// <summary>Names by thread id.</summary>
    internal Dictionary<int, string> Names { get; } = [];

    internal static ServerThreads Read(int processId)
    {
        var threads = new ServerThreads();
        foreach (string task in Directory.GetDirectories($"/proc/{processId}/task"))
        {
            int id = int.Parse(Path.GetFileName(task), System.Globalization.CultureInfo.InvariantCulture);
            try
            {
                threads.Names[id] = File.ReadAllText(Path.Combine(task, "comm")).TrimEnd();
                threads._onCpuNs[id] = CpuClock.ReadOnCpuNs(task);
            }
            catch (IOException)
            {
                // The thread ended after it was listed.
            }
        }

        return threads;
    }

    /// <summary>Seconds on a core since an earlier reading, by thread name and id.</summary>
    internal Dictionary<string, double> OnCpuSecondsSince(ServerThreads before) =>
        _onCpuNs.ToDictionary(entry => $"{Names[entry.Key]} {entry.Key}", entry => (entry.Value - before._onCpuNs.GetValueOrDefault(entry.Key)) / 1e9);
}
