using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>
/// Every command line of the documentation is executed, against two servers on this machine and with less load; what cannot be is checked by
/// name: verbs, options, settings, packages. The reasons are in <see cref="OnlyChecked"/>. A block of commands of Redis is executed too, one of settings is checked,
/// and any other block without a language is in <see cref="Texts"/>.
/// </summary>
public sealed partial class DocumentedCommandTests(DocumentedServers here) : IClassFixture<DocumentedServers>
{
    // What a line begins with, or has, and why it is not executed.
    private static readonly (string Has, string Reason)[] OnlyChecked =
    [
        ("rediss://old.example", "needs a server with a certificate; ImportTests has one"),
        ("redis-cli --tls", "needs a server with a certificate; TlsClientTests has one"),
        ("DOTNET_JitStdOutFile=", "prints machine code for as long as it runs"),
        ("./dev ", "builds, tests or measures for minutes"),
        ("dotnet add package", "asks a registry; PackageTests installs the packages from a folder"),
        ("dotnet tool install", "asks a registry; PackageTests installs the tool from a folder"),
        ("dotnet artifacts/bin/", "runs tests of another suite"),
        ("redis-server ", "is not RedKite"),
        ("redkite cluster ", "needs etcd; ClusterPageTests has one"),
        ("redkite debug-package --cluster ", "needs etcd; ClusterProgramTests has one"),
        ("redkite controller ", "needs etcd; ClusterProgramTests has one"),
    ];

    // Programs of the system that prepare a machine. They are neither executed nor checked.
    private static readonly string[] Systems = ["cp", "etcd", "install", "openssl", "systemctl", "useradd"];

    // Blocks that are no command lines: a page, what its block begins with, what it is.
    private static readonly (string Page, string Begins, string What)[] Texts =
    [
        ("docs/architecture.md", "Host  ", "a list of layers"),
        ("docs/cluster.md", "CLUSTERX SETNODES", "a command with the ids of nodes; ClusterNodeTests has the like"),
        ("docs/exports.md", "histogram_quantile", "an expression of Prometheus"),
        ("docs/hosting.md", "configuration RedKite:Port", "two messages"),
        ("docs/memory.md", "header: ", "a layout of bytes"),
        ("docs/performance-loop.md", "  exclusive %", "output of the profiler"),
        ("docs/rdb.md", "u8 type", "a layout of bytes"),
        ("docs/rdb.md", "\"REDIS\"", "a layout of bytes"),
        ("docs/replication.md", "sentinel monitor", "a configuration of Sentinel; SentinelTests has the like"),
    ];

    private static readonly Lazy<string> Dev = new(static () => ReadAll("dev"));

    [Fact]
    public async Task Every_command_line_is_executed_or_checked()
    {
        int executed = 0, commands = 0, settings = 0;
        HashSet<string> done = [];
        List<string> faults = [], onlyChecked = [], systems = [], texts = [];
        foreach (DocumentationBlock block in DocumentationBlocks.All().Where(static block => block.Language.Length == 0))
        {
            string[] lines = [.. Lines(block)];
            if (Texts.FirstOrDefault(text => text.Page == block.Page && block.Text.StartsWith(text.Begins, StringComparison.Ordinal)) is { Page: not null } known)
            {
                texts.Add($"{block}: {known.What}");
            }
            else if (lines.All(line => here.Commands.Contains(Word(line))))
            {
                commands += lines.Length;
                faults.AddRange(lines.Select(line => (line, reply: here.Primary.Run(line))).Where(static pair => pair.reply.IsError).Select(pair => $"{block}: {pair.line}: {pair.reply.Text}"));
            }
            else if (lines.All(line => here.Settings.Contains(Word(line))))
            {
                settings += lines.Length;
            }
            else
            {
                foreach (string line in lines)
                {
                    string? fault = null;
                    if (Systems.Contains(Word(line))) systems.Add(line);
                    else if (OnlyChecked.FirstOrDefault(row => line.Contains(row.Has, StringComparison.Ordinal)) is { Has: not null } row)
                    {
                        onlyChecked.Add($"{line}: {row.Reason}");
                        fault = Check(line);
                    }
                    else if (done.Add(line))
                    {
                        executed++;
                        fault = Check(line) ?? await here.Execute(line);
                    }

                    if (fault is not null) faults.Add($"{block}: {line}: {fault}");
                }
            }
        }

        Action<string>? tell = TestContext.Current.TestOutputHelper is { } output ? output.WriteLine : null;
        tell?.Invoke($"{executed} command lines and {commands} commands of Redis were executed. {settings} lines are settings that exist.");
        tell?.Invoke($"{onlyChecked.Count} command lines were only checked:\n  {string.Join("\n  ", onlyChecked)}");
        tell?.Invoke($"{systems.Count} lines are of the system's programs:\n  {string.Join("\n  ", systems)}");
        tell?.Invoke($"{texts.Count} blocks are no commands:\n  {string.Join("\n  ", texts)}");
        Assert.True(faults.Count == 0, string.Join('\n', faults));
        Assert.Empty(OnlyChecked.Where(row => !onlyChecked.Any(line => line.Contains(row.Has, StringComparison.Ordinal))).Select(static row => $"no line has {row.Has} any more"));
        Assert.Equal(Texts.Length, texts.Count);
        Assert.True(executed > 25, $"only {executed} lines were found");
    }

    [Fact]
    public void Wrong_command_lines_are_reported()
    {
        foreach ((string line, string part) in ((string, string)[])
        [
            ("redkite frobnicate", "frobnicate"),
            ("redkite check --mend dump.rdb", "--mend"),
            ("redkite cluster create --replcas 1", "--replcas"),
            ("redkite --prot 6379", "prot"),
            ("./dev tset", "tset"),
            ("./dev bench ladder --stagse 1", "--stagse"),
            ("./dev bench tpyes", "tpyes"),
            ("dotnet add package RedKit", "RedKit"),
            ("dotnet artifacts/bin/RedKite.Repo.Tests/release/RedKite.Repo.Tests.dll -method \"*Files_are_shrot\"", "Files_are_shrot"),
            ("redis-server --appendolny yes", "appendolny"),
            ("redsi-cli ping", "redsi-cli"),
        ])
        {
            Assert.Contains(part, Check(line) ?? "", StringComparison.Ordinal);
        }
    }

    // Without comments, with continued lines as one, and only what comes before a pipe or a redirection.
    private static IEnumerable<string> Lines(DocumentationBlock block)
    {
        string text = Continued().Replace(block.Text, " ");
        return text.Split('\n').Select(static line => Redirected().Split(Comment().Replace(line, ""))[0].Trim()).Where(static line => line.Length > 0);
    }

    private static string Word(string line) => line.Split(' ')[0];

    /// <summary>Whether the program, its verb and the names of its options exist; null if they do.</summary>
    private string? Check(string line)
    {
        string[] words = [.. CommandLine.SplitText(Variables().Replace(line, ""))];
        string[] options = [.. words.Where(static word => word.StartsWith("--", StringComparison.Ordinal) && word.Length > 2)];
        switch (words)
        {
            case ["redkite", "--help" or "--version", ..]: return null;
            case ["redkite" or "redis-server", ['-', '-', ..], ..]: return options.FirstOrDefault(option => !here.Settings.Contains(option[2..])) is { } unknown ? $"no setting {unknown[2..]}" : null;
            case ["redkite", var program, ..]:
                return here.Help(program) is not { } help ? $"no program {program}"
                    : words.FirstOrDefault(word => word.StartsWith('-') && !Regex.IsMatch(help, $@"(?<![\w-]){Regex.Escape(word)}(?![\w-])")) is { } missing ? $"no option {missing}" : null;
            case ["redis-cli", ..]:
                return words.Where(static word => word.StartsWith('-')).FirstOrDefault(word => !Regex.IsMatch(here.CliHelp, $@"(?m)^\s+{Regex.Escape(word)}\b")) is { } wrong ? $"no option {wrong}" : null;
            case ["./dev", "bench", .. string[] bench]: return CheckBench(bench);
            case ["./dev", var verb, ..]: return !Regex.IsMatch(Dev.Value, $@"(?m)^        {Regex.Escape(verb)}\)") ? $"no verb {verb}" : options.FirstOrDefault(static option => !Dev.Value.Contains($"{option})", StringComparison.Ordinal) && option != "--port") is { } no ? $"no option {no}" : null;
            case ["dotnet", "add", "package", var package]: return CheckPackage(package);
            case ["dotnet", "tool", "install", "--global", var tool]: return CheckPackage(tool);
            case ["dotnet", var program, .. string[] filters] when program.StartsWith("artifacts/bin/", StringComparison.Ordinal): return CheckTests(program, filters);
            case [var file, ..] when file.StartsWith("artifacts/bin/", StringComparison.Ordinal): return File.Exists(Path.Combine(RepositoryRoot.Path, file)) ? null : $"no file {file}";
            default: return $"no test knows {words[0]}";
        }
    }

    private static string? CheckBench(string[] words)
    {
        string name = words[0];
        string project = name switch { "micro" => "Microbenchmarks", "profile" => "Profile", "ladder" => "Ladder", "compare" => "Compare", "record" or "history" => "History", _ => "Figures" };
        string sources = ReadAll(Path.Combine("bench", project));
        if (project == "Figures" ? !sources.Contains($"[\"{name}\"]", StringComparison.Ordinal) : !Regex.IsMatch(Dev.Value, $@"(?m)^        .*\b{name}\b.*\)$")) return $"no scenario {name}";
        if (name == "profile" && !sources.Contains($"\"{words[1]}\"", StringComparison.Ordinal)) return $"no scenario {words[1]}";
        int passedOn = Array.IndexOf(words, "--");
        foreach ((string word, int i) in words.Select(static (word, i) => (word, i)))
        {
            if (!word.StartsWith("--", StringComparison.Ordinal) || word.Length == 2) continue;
            string where = passedOn >= 0 && i > passedOn ? ReadAll(Path.Combine("bench", "Figures")) : sources;
            if (!where.Contains($"\"{word}\"", StringComparison.Ordinal)) return $"no option {word}";
        }

        return null;
    }

    private static string? CheckPackage(string name)
    {
        string[] projects = Directory.GetFiles(Path.Combine(RepositoryRoot.Path, "src"), "*.csproj", SearchOption.AllDirectories);
        bool exists = projects.Any(file => Regex.Match(File.ReadAllText(file), "<PackageId>(.*)</PackageId>") is { Success: true } given ? given.Groups[1].Value == name : Path.GetFileNameWithoutExtension(file) == name && File.Exists(Path.Combine(Path.GetDirectoryName(file)!, "README.md")));
        return exists ? null : $"no package {name}";
    }

    private static string? CheckTests(string program, string[] filters)
    {
        string folder = Path.Combine("tests", program.Split('/')[2]);
        if (!Directory.Exists(Path.Combine(RepositoryRoot.Path, folder))) return $"no suite {folder}";
        string sources = ReadAll(folder);
        return filters.Where(static word => word[0] != '-').FirstOrDefault(word => !Regex.IsMatch(sources, $@"\w*{word.Trim('*')}\b")) is { } name ? $"no test {name}" : null;
    }

    private static string ReadAll(string path)
    {
        string full = Path.Combine(RepositoryRoot.Path, path);
        return File.Exists(full) ? File.ReadAllText(full) : string.Join('\n', Directory.GetFiles(full, "*.cs", SearchOption.AllDirectories).Select(File.ReadAllText));
    }

    [GeneratedRegex(@"\\\n\s*")]
    private static partial Regex Continued();

    [GeneratedRegex(@"(^|\s{2,}|\s(?=#\s))#\s.*$")]
    private static partial Regex Comment();

    [GeneratedRegex(@"\s[|>]\s")]
    private static partial Regex Redirected();

    [GeneratedRegex(@"^([A-Z][A-Za-z_]*=(""[^""]*""|\S*)\s+)+")]
    internal static partial Regex Variables();
}
