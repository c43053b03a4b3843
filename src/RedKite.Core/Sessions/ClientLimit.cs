using System.Globalization;
using RedKite.Net;
using RedKite.Server.Config;
using RedKite.Server.Logging;

namespace RedKite.Server.Sessions;

/// <summary>
/// Limits maxclients to what the system's limit of open files allows, and raises that limit if it can. Without it, accepting
/// would fail at the limit, and so would everything else that needs a file: the runtime opens its libraries when they are needed.
/// </summary>
internal sealed class ClientLimit(Settings settings, ServerLog log)
{
    // Files that are opened later besides the clients (Redis reserves the same number), and refused connections.
    private const int FilesKept = 32 + OpenSockets.RefusedMax;

    // The dashboard's own, its connections and its libraries, which are opened when it starts after the server.
    private const int DashboardFiles = 120;

    // Fewer are not enough for the runtime, one loop and one client, and the runtime may fail anywhere (measured: at 64 it fails when
    // the start lists the open files, at 40 when it loads the console).
    private const int ProcessFilesMin = 112;

    private long _filesReserved = FilesKept;

    /// <summary>Whether the process may open enough files to start at all; otherwise a line on standard error says so. As early as possible.</summary>
    internal static bool ProcessMayStart()
    {
        long limit = OpenFiles.RaiseLimit(ProcessFilesMin);
        if (limit >= ProcessFilesMin) return true;
        OpenFiles.WriteError(string.Create(CultureInfo.InvariantCulture, $"redkite needs at least {ProcessFilesMin} open files to start, but the system's limit (ulimit -n) is {limit}"));
        return false;
    }

    /// <summary>Lowers maxclients to what fits. The files that the process has open now are its own, not clients'.</summary>
    /// <exception cref="RedKiteConfigException">Not a single client fits.</exception>
    internal void ApplyAtStart(int loops)
    {
        _filesReserved = FilesKept + (settings.AdminPort == "0" ? 0 : DashboardFiles) + OpenFiles.Count + (loops * EventLoop.OwnFilesMax);
        long wanted = settings.MaxClients;
        long fitting = Fitting(wanted, out long limit);
        if (fitting >= wanted) return;
        string needs = $"maxclients {wanted} needs {wanted + _filesReserved} open files, {_filesReserved} of them for the server itself, but the system's limit (ulimit -n) is {limit}";
        if (fitting < 1) throw new RedKiteConfigException($"{needs}: not a single client fits");
        settings.MaxClients = fitting;
        log.Warning(LogEvents.ClientLimitReduced, $"{needs}. maxclients has been reduced to {fitting}. For more, raise the limit.");
    }

    /// <summary>Checks a new maxclients; returns the error text if that many do not fit.</summary>
    internal string? Check()
    {
        long fitting = Fitting(settings.MaxClients, out _);
        return fitting < settings.MaxClients
            ? $"The operating system is not able to handle the specified number of clients, try with {Math.Max(0, fitting)}"
            : null;
    }

    private long Fitting(long clients, out long limit)
    {
        limit = OpenFiles.RaiseLimit(clients + _filesReserved);
        return Math.Min(clients, limit - _filesReserved);
    }
}
