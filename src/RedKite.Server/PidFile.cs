using System.Globalization;

namespace RedKite.Server;

/// <summary>The file that tells the process's number while the server runs, when pidfile names one.</summary>
internal static class PidFile
{
    /// <summary>Writes the file. A server that cannot starts all the same, as Redis does.</summary>
    internal static void Write(RedKiteServer server) => Change(server, path =>
        File.WriteAllText(path, Environment.ProcessId.ToString(CultureInfo.InvariantCulture) + "\n"));

    internal static void Remove(RedKiteServer server) => Change(server, File.Delete);

    private static void Change(RedKiteServer server, Action<string> change)
    {
        if (server.Settings.PidFilePath.Length == 0) return;
        string path = Path.Combine(server.Settings.DirectoryPath, server.Settings.PidFilePath);
        try
        {
            change(path);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            server.Log.Warning($"The pid file {path} cannot be changed: {failure.Message}");
        }
    }
}
