using System.Diagnostics;
using System.IO.Compression;
using System.Text;
using System.Xml.Linq;
using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>
/// A folder with packages of this build, and projects that take them from there. Their version is new each time, and they are installed into a folder
/// of their own: nothing of an earlier build can be found, and the user's packages stay as they are.
/// </summary>
internal sealed class PackageFeed : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(10);

    private readonly TemporaryFolder _folder = new();
    private readonly string _version = $"0.1.0-test{DateTime.UtcNow.Ticks}";

    internal PackageFeed()
    {
        Directory.CreateDirectory(Packages);
        File.WriteAllText(Path.Combine(_folder.Path, "nuget.config"), $"""<configuration><packageSources><add key="test" value="{Packages}" /></packageSources></configuration>""");
    }

    internal string[] Names => [.. Directory.EnumerateFiles(Packages, "*.nupkg").Select(path => Path.GetFileName(path).Replace($".{_version}.nupkg", "", StringComparison.Ordinal)).Order(StringComparer.Ordinal)];

    /// <summary>Whether the repository has the package of the test server.</summary>
    internal bool HasTesting => Directory.Exists(Path.Combine(RepositoryRoot.Path, "src", "RedKite.Testing"));

    private string Packages => Path.Combine(_folder.Path, "packages");

    private string Installed => Path.Combine(_folder.Path, "installed");

    private static string UserPackages => Environment.GetEnvironmentVariable("NUGET_PACKAGES") ?? Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".nuget", "packages");

    public void Dispose() => _folder.Dispose();

    /// <summary>Packs what was built.</summary>
    internal void Pack(string project) => Execute("dotnet", RepositoryRoot.Path, "pack", Path.Combine("src", project), "-c", "Release", "--no-build", "-v", "quiet", "-o", Packages, "-p:PackageVersion=" + _version);

    /// <summary>Packs the whole repository.</summary>
    internal void PackAll() => Execute("dotnet", RepositoryRoot.Path, "pack", "RedKite.slnx", "-c", "Release", "--no-build", "-v", "quiet", "-o", Packages, "-p:PackageVersion=" + _version);

    internal XDocument Nuspec(string name)
    {
        using ZipArchive package = Open(name);
        using Stream nuspec = package.Entries.Single(entry => entry.FullName.EndsWith(".nuspec", StringComparison.Ordinal)).Open();
        return XDocument.Load(nuspec);
    }

    internal IEnumerable<string?> Dependencies(string name) => Nuspec(name).Descendants().Where(element => element.Name.LocalName == "dependency").Select(element => (string?)element.Attribute("id"));

    internal bool Has(string name, string file)
    {
        using ZipArchive package = Open(name);
        return package.GetEntry(file) is not null;
    }

    internal string Text(string name, string file)
    {
        using ZipArchive package = Open(name);
        using var reader = new StreamReader(package.GetEntry(file)!.Open());
        return reader.ReadToEnd();
    }

    internal bool HasSymbols(string name) => File.Exists(Path.Combine(Packages, $"{name}.{_version}.snupkg"));

    /// <summary>The files of all packages that contain a text.</summary>
    internal IEnumerable<string> FilesWithText(string text)
    {
        byte[] bytes = Encoding.UTF8.GetBytes(text);
        byte[] wide = Encoding.Unicode.GetBytes(text);
        foreach (string name in Names)
        {
            using ZipArchive package = Open(name);
            foreach (ZipArchiveEntry entry in package.Entries)
            {
                using var content = new MemoryStream();
                using (Stream stream = entry.Open()) stream.CopyTo(content);
                ReadOnlySpan<byte> span = content.GetBuffer().AsSpan(0, (int)content.Length);
                if (span.IndexOf(bytes) >= 0 || span.IndexOf(wide) >= 0) yield return $"{name}: {entry.FullName}";
            }
        }
    }

    /// <summary>A project with packages: those of this repository by name, others by name and version.</summary>
    internal string Project(string sdk, params string[] packages) => $"""
        <Project Sdk="{sdk}">
          <PropertyGroup>
            <OutputType>Exe</OutputType>
            <TargetFramework>net10.0</TargetFramework>
            <Nullable>enable</Nullable>
            <ImplicitUsings>enable</ImplicitUsings>
            <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
            <NuGetAudit>false</NuGetAudit>
            <NoWarn>$(NoWarn);ASPIRE010</NoWarn>
            <RestoreFallbackFolders>{UserPackages}</RestoreFallbackFolders>
          </PropertyGroup>
          <ItemGroup>
            {string.Join("\n    ", packages.Select(ReferenceTo))}
          </ItemGroup>
        </Project>
        """;

    /// <summary>An Aspire application, whose own packages come from the user's sources.</summary>
    internal string AppHost() => Project("Aspire.AppHost.Sdk/13.6.4", "RedKite.Aspire.Hosting", "Aspire.Hosting.AppHost:13.6.5", "Polly.Core:8.8.0", "Nerdbank.MessagePack:1.3.88");

    /// <summary>Writes and builds a project.</summary>
    /// <returns>Its folder.</returns>
    internal string NewProject(string name, string project, params ReadOnlySpan<(string Name, string Text)> files)
    {
        string folder = Directory.CreateDirectory(Path.Combine(_folder.Path, name)).FullName;
        File.WriteAllText(Path.Combine(folder, name + ".csproj"), project);
        foreach ((string file, string text) in files) File.WriteAllText(Path.Combine(folder, file), text);
        Execute("dotnet", folder, "build", "-c", "Release", "-v", "quiet", "-o", Path.Combine(folder, "out"));
        return folder;
    }

    /// <summary>Runs a project that was built, and returns its output.</summary>
    internal string Run(string folder, params string[] arguments) => Execute("dotnet", folder, [Path.Combine(folder, "out", Path.GetFileName(folder) + ".dll"), .. arguments]);

    /// <summary>Publishes a project, and returns the program's path.</summary>
    internal string Publish(string folder)
    {
        string published = Path.Combine(folder, "published");
        Execute("dotnet", folder, "publish", "-c", "Release", "-v", "quiet", "-o", published);
        return Path.Combine(published, Path.GetFileName(folder) + (OperatingSystem.IsWindows() ? ".exe" : ""));
    }

    /// <summary>Installs the tool of this repository, and returns its path.</summary>
    internal string InstallTool() => InstallTool("RedKite.Tool", _version, "redkite");

    /// <summary>Installs a tool of the user's sources, and returns its path.</summary>
    internal string InstallTool(string package, string version, string command)
    {
        string folder = Path.Combine(_folder.Path, "tools");
        Execute("dotnet", _folder.Path, "tool", "install", package, "--tool-path", folder, "--version", version, "--add-source", Packages);
        return Path.Combine(folder, OperatingSystem.IsWindows() ? command + ".exe" : command);
    }

    internal string Execute(string program, params string[] arguments) => Execute(program, _folder.Path, arguments);

    private string Execute(string program, string folder, params string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments) { WorkingDirectory = folder, RedirectStandardOutput = true, RedirectStandardError = true };
        start.Environment["NUGET_PACKAGES"] = folder == RepositoryRoot.Path ? UserPackages : Installed;
        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        start.Environment["DOTNET_NOLOGO"] = "1";
        start.Environment["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1";
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        if (!process.WaitForExit(Patience))
        {
            process.Kill(entireProcessTree: true);
            throw new TimeoutException($"{program} {string.Join(' ', arguments)} does not end.");
        }

        return process.ExitCode == 0 ? output.Result : throw new InvalidOperationException($"{program} {string.Join(' ', arguments)} in {folder}: exit status {process.ExitCode}\n{output.Result}{error.Result}");
    }

    private string ReferenceTo(string package)
    {
        string[] parts = package.Split(':');
        return $"""<PackageReference Include="{parts[0]}" Version="{(parts.Length > 1 ? parts[1] : _version)}" />""";
    }

    private ZipArchive Open(string name) => ZipFile.OpenRead(Path.Combine(Packages, $"{name}.{_version}.nupkg"));
}
