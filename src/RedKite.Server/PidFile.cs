using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Server.Config;
using RedKite.Server.Logging;

namespace RedKite.Server;

/// <summary>The file that holds the process id while the server runs, if the setting pidfile names one.</summary>
internal sealed class PidFile(Settings settings, ServerLog log)
{
    /// <summary>Writes the file. A server that cannot write it starts nevertheless, as Redis does.</summary>
    internal void Write() => Change(path =>
        File.WriteAllText(path, Environment.ProcessId.ToString(CultureInfo.InvariantCulture) + "\n"));

    internal void Remove() => Change(File.Delete);

    private void Change(Action<string> change)
    {
        if (settings.PidFilePath.Length == 0) return;
        string path = Path.Combine(settings.DirectoryPath, settings.PidFilePath);
        try
        {
            change(path);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            log.Warning(LogEvents.PidFileUnwritable, $"The pid file {path} cannot be changed: {FileFailure.ReasonOf(failure)}");
        }
    }
}
