using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace RedKite.Repo.Tests;

/// <summary>The projects, and the references each may have.</summary>
public partial class ProjectTests
{
    private static readonly Dictionary<string, string[]> AllowedReferences = new()
    {
        ["RedKite.Host"] = ["RedKite.Bench", "RedKite.Dashboard", "RedKite.Persistence", "RedKite.Protocol", "RedKite.Server", "RedKite.Traces"],
        ["RedKite.Tool"] = [],
        ["RedKite.Hosting"] = ["RedKite.Dashboard", "RedKite.Server"],
        ["RedKite.Aspire.Hosting"] = [],
        ["RedKite.Bench"] = ["RedKite.Net", "RedKite.Protocol"],
        ["RedKite.Dashboard"] = ["RedKite.Server"],
        ["RedKite.Testing"] = ["RedKite.Server"],
        ["RedKite.Scripting"] = ["RedKite.Protocol"],
        ["RedKite.Server"] = ["RedKite.Administration", "RedKite.Client", "RedKite.Cluster", "RedKite.Cluster.Etcd", "RedKite.Commands", "RedKite.Core", "RedKite.Diagnostics", "RedKite.Durability", "RedKite.Execution", "RedKite.Json", "RedKite.Replication", "RedKite.Sketches", "RedKite.TimeSeries"],
        ["RedKite.Administration"] = ["RedKite.Cluster", "RedKite.Commands", "RedKite.Core", "RedKite.Diagnostics", "RedKite.Durability", "RedKite.Replication"],
        ["RedKite.Diagnostics"] = ["RedKite.Core", "RedKite.Durability", "RedKite.Replication"],
        ["RedKite.Client"] = ["RedKite.Core", "RedKite.Execution"],
        ["RedKite.Cluster"] = ["RedKite.Core"],
        ["RedKite.Cluster.Etcd"] = ["RedKite.Cluster"],
        ["RedKite.Commands"] = ["RedKite.Core"],
        ["RedKite.Durability"] = ["RedKite.Core"],
        ["RedKite.Execution"] = ["RedKite.Core"],
        ["RedKite.Replication"] = ["RedKite.Core"],
        ["RedKite.Json"] = ["RedKite.Core"],
        ["RedKite.Sketches"] = ["RedKite.Core"],
        ["RedKite.TimeSeries"] = ["RedKite.Core"],
        ["RedKite.Core"] = ["RedKite.Net", "RedKite.Persistence", "RedKite.Protocol", "RedKite.Scripting", "RedKite.Store"],
        ["RedKite.Persistence"] = ["RedKite.Protocol", "RedKite.Store"],
        ["RedKite.Net"] = [],
        ["RedKite.Protocol"] = [],
        ["RedKite.Store"] = [],
        ["RedKite.Traces"] = [],
    };

    // The bottom of the graph and what executes commands reference only the base library; the commands add the hash of DIGEST. What speaks to etcd is a project of its own, so that its package is loaded only there.
    private static readonly Dictionary<string, string[]> AllowedPackages = new()
    {
        ["RedKite.Bench"] = [],
        ["RedKite.Net"] = [],
        ["RedKite.Persistence"] = [],
        ["RedKite.Protocol"] = [],
        ["RedKite.Client"] = [],
        ["RedKite.Cluster"] = [],
        ["RedKite.Cluster.Etcd"] = ["dotnet-etcd"],
        ["RedKite.Commands"] = ["System.IO.Hashing"],
        ["RedKite.Core"] = [],
        ["RedKite.Diagnostics"] = [],
        ["RedKite.Durability"] = [],
        ["RedKite.Execution"] = [],
        ["RedKite.Replication"] = [],
        ["RedKite.Json"] = [],
        ["RedKite.Sketches"] = [],
        ["RedKite.TimeSeries"] = [],
        ["RedKite.Server"] = [],
        ["RedKite.Store"] = [],
        ["RedKite.Testing"] = [],
    };

    // Suites that cover several projects.
    private static readonly string[] CrossCuttingSuites = ["Differential", "EndToEnd", "Fuzz", "Libraries", "Repo", "Samples", "Types"];

    // Shared by the suites: server processes, a client, transcripts; and a program that knows nothing of RedKite.
    private static readonly string[] Helpers = ["RedKite.ClusterChecker", "RedKite.TestSupport"];

    [Fact]
    public void References_point_down_the_graph()
    {
        Repository.AssertNone(Repository.Files("src", ".csproj")
            .SelectMany(path => ReferenceViolations(path, Repository.Read(path))));
    }

    [Fact]
    public void Architecture_has_the_graph()
    {
        string page = Repository.Read("docs/architecture.md");
        string[] stated = [.. Row().Matches(page).Select(match => $"{match.Groups["name"].Value} -> {match.Groups["to"].Value}")];
        string[] allowed = [.. AllowedReferences.Select(project => $"{Short(project.Key)} -> {string.Join(", ", project.Value.Order(StringComparer.Ordinal).Select(Short))}")];
        Assert.Equal(allowed.Order(StringComparer.Ordinal), stated.Order(StringComparer.Ordinal));

        static string Short(string name) => name["RedKite.".Length..];
    }

    // The picture has the rooms and what is below them, as their projects refer to each other.
    [Fact]
    public void Architecture_draws_the_references()
    {
        string[] drawn = [.. Repository.Read("docs/architecture.md").Split('\n').Where(line => line.Contains(" --> ", StringComparison.Ordinal)).SelectMany(Edges)];
        string[] left = [.. drawn.Select(edge => edge.Split(' ')[0]).Distinct()];
        string[] referred = [.. left.SelectMany(name => Includes(Repository.Read($"src/RedKite.{name}/RedKite.{name}.csproj"), "ProjectReference").Select(to => $"{name} {Name(to)["RedKite.".Length..]}"))];
        Assert.Contains("Server Core", drawn);
        Assert.Equal(referred.Order(StringComparer.Ordinal), drawn.Order(StringComparer.Ordinal));

        static IEnumerable<string> Edges(string line)
        {
            string[] sides = line.Trim().Split(" --> ");
            return sides[1].Split(" & ").Select(to => $"{sides[0]} {to}");
        }
    }

    [Theory]
    [InlineData("src/RedKite.Store/RedKite.Store.csproj", "ProjectReference", "../RedKite.Net/RedKite.Net.csproj")]
    [InlineData("src/RedKite.Protocol/RedKite.Protocol.csproj", "ProjectReference", "..\\RedKite.Store\\RedKite.Store.csproj")]
    [InlineData("src/RedKite.Durability/RedKite.Durability.csproj", "ProjectReference", "../RedKite.Replication/RedKite.Replication.csproj")]
    [InlineData("src/RedKite.Commands/RedKite.Commands.csproj", "ProjectReference", "../RedKite.Execution/RedKite.Execution.csproj")]
    [InlineData("src/RedKite.Server/RedKite.Server.csproj", "PackageReference", "Some.Package")]
    [InlineData("src/RedKite.Unknown/RedKite.Unknown.csproj", "ProjectReference", "../RedKite.Store/RedKite.Store.csproj")]
    public void Reference_against_the_graph_is_reported(string path, string element, string include)
    {
        Assert.Single(ReferenceViolations(path, ProjectWith(element, include)));
    }

    [Fact]
    public void Reference_down_the_graph_is_allowed()
    {
        string project = ProjectWith("ProjectReference", "../RedKite.Store/RedKite.Store.csproj");
        Assert.Empty(ReferenceViolations("src/RedKite.Core/RedKite.Core.csproj", project));
    }

    [Fact]
    public void Every_project_is_in_the_solution()
    {
        Repository.AssertNone(SolutionViolations(Repository.Read("RedKite.slnx"), Repository.Files("", ".csproj")));
    }

    [Fact]
    public void Project_outside_the_solution_is_reported()
    {
        const string solution = """<Solution><Project Path="src/A/A.csproj" /></Solution>""";
        Assert.Equal(["src/B/B.csproj is not in RedKite.slnx"], SolutionViolations(solution, ["src/A/A.csproj", "src/B/B.csproj"]));
    }

    [Fact]
    public void Every_test_project_mirrors_a_project()
    {
        string[] projects = [.. Repository.Files("src", ".csproj").Concat(Repository.Files("bench", ".csproj")).Select(Name)];
        Repository.AssertNone(MirrorViolations(Repository.Files("tests", ".csproj").Select(Name), projects));
    }

    [Theory]
    [InlineData("RedKite.Stores.Tests", 1)]
    [InlineData("RedKite.StoreTests", 1)]
    [InlineData("RedKite.Store.Tests", 0)]
    [InlineData("RedKite.Fuzz.Tests", 0)]
    public void Test_project_without_a_project_is_reported(string testProject, int violations)
    {
        Assert.Equal(violations, MirrorViolations([testProject], ["RedKite.Store"]).Count());
    }

    private static IEnumerable<string> ReferenceViolations(string path, string project)
    {
        string name = Name(path);
        if (!AllowedReferences.TryGetValue(name, out string[]? allowed))
        {
            yield return $"{path}: the project is not in the allowed graph";
            yield break;
        }

        foreach (string reference in Includes(project, "ProjectReference").Select(Name).Where(to => !allowed.Contains(to)))
        {
            yield return $"{path}: {name} must not refer to {reference}";
        }

        if (!AllowedPackages.TryGetValue(name, out string[]? packages)) yield break;
        foreach (string package in Includes(project, "PackageReference").Except(packages))
        {
            yield return $"{path}: {name} must not use the package {package}";
        }
    }

    private static IEnumerable<string> SolutionViolations(string solution, IEnumerable<string> projects)
    {
        string[] listed = [.. XDocument.Parse(solution).Descendants("Project").Select(project => (string)project.Attribute("Path")!)];
        return projects.Where(path => !listed.Contains(path)).Select(path => $"{path} is not in RedKite.slnx");
    }

    private static IEnumerable<string> MirrorViolations(IEnumerable<string> testProjects, string[] projects)
    {
        string[] allowed =
        [
            .. Helpers,
            .. projects.Select(name => $"{name}.Tests"),
            .. CrossCuttingSuites.Select(suite => $"RedKite.{suite}.Tests"),
        ];
        return testProjects.Where(name => !allowed.Contains(name)).Select(name => $"{name} mirrors no project under src or bench");
    }

    private static IEnumerable<string> Includes(string project, string element)
    {
        return XDocument.Parse(project).Descendants(element).Select(reference => (string?)reference.Attribute("Include") ?? "");
    }

    private static string Name(string path) => Path.GetFileNameWithoutExtension(path.Replace('\\', '/'));

    private static string ProjectWith(string element, string include)
    {
        return $"""<Project Sdk="Microsoft.NET.Sdk"><ItemGroup><{element} Include="{include}" /></ItemGroup></Project>""";
    }

    // A project of the list: its name, what it refers to, and two or more spaces before what it is.
    [GeneratedRegex(@"^(?<name>[A-Z][\w.]*) +(?:-> (?<to>[\w., ]*?))? {2,}\S", RegexOptions.Multiline)]
    private static partial Regex Row();
}
