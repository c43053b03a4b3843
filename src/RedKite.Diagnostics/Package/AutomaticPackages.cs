using System.Globalization;
using RedKite.Persistence.Files;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics.Actions;
using RedKite.Server.Logging;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>
/// Writes a debug package into `debug-package-dir` when a finding becomes critical: at most `debug-packages-per-day`, and the oldest are
/// deleted so that all together stay within `debug-packages-max-bytes`. It counts the existing files, so that a restart does not
/// reset the limits.
/// </summary>
internal sealed class AutomaticPackages(ServerParts parts, PackageService packages)
{
    private const string Pattern = "redkite-package-*.zip";

    /// <summary>The contents of a package.</summary>
    internal PackageOptions Options { get; set; } = PackageOptions.Default;

    /// <summary>Begins a package for a finding that has become critical. On the diagnostics thread; the package is built on another one.</summary>
    internal void OnCritical(Finding finding)
    {
        Settings settings = parts.Core.Configuration.Settings;
        if (settings.DebugPackageDirectoryPath.Length == 0) return;
        string folder = Path.Combine(settings.DirectoryPath, settings.DebugPackageDirectoryPath);
        try
        {
            Directory.CreateDirectory(folder);
            DateTime dayAgo = DateTime.UtcNow.AddDays(-1);
            if (Existing(folder).Count(file => file.LastWriteTimeUtc > dayAgo) >= settings.DebugPackagesPerDay) return;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            parts.Core.Log.Warning(LogEvents.PackageFailed, $"No debug package is written to {folder}: {FileFailure.ReasonOf(failure)}");
            return;
        }

        if (!packages.TryReserve()) return; // one is being built by request
        packages.Begin(Options, (package, error) => Save(folder, finding.Rule.Name, package, error));
    }

    private void Save(string folder, string finding, byte[]? package, string? error)
    {
        var bytesMax = (long)parts.Core.Configuration.Settings.DebugPackagesBytesMax;
        if (package is null || package.Length > bytesMax)
        {
            parts.Core.Log.Warning(LogEvents.PackageFailed, $"The debug package for finding {finding} was not written: {error ?? $"its {package!.Length} bytes are more than debug-packages-max-bytes"}");
            return;
        }

        try
        {
            Shrink(folder, bytesMax - package.Length);
            string path = Path.Combine(folder, string.Create(CultureInfo.InvariantCulture, $"redkite-package-{DateTime.UtcNow:yyyyMMdd-HHmmssfff}-{finding}.zip"));
            File.WriteAllBytes(path + ".tmp", package);
            File.Move(path + ".tmp", path);
            parts.Core.Actions.Note(ActionTable.WritePackage, $"finding {finding} is critical, and a debug package of {package.Length} bytes was written");
            parts.Core.Log.Warning(LogEvents.PackageWritten, $"Finding {finding} is critical: debug package {path} was written.");
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            parts.Core.Log.Warning(LogEvents.PackageFailed, $"The debug package for finding {finding} cannot be written: {FileFailure.ReasonOf(failure)}");
        }
    }

    // Deletes the oldest packages until the others fit.
    private static void Shrink(string folder, long bytesMax)
    {
        FileInfo[] newestFirst = [.. Existing(folder).OrderByDescending(file => file.LastWriteTimeUtc)];
        long bytes = 0;
        foreach (FileInfo file in newestFirst)
        {
            bytes += file.Length;
            if (bytes > bytesMax) file.Delete();
        }
    }

    private static FileInfo[] Existing(string folder) => new DirectoryInfo(folder).GetFiles(Pattern);
}
