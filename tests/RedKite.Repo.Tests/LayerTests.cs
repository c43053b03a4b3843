using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>The folders of a project, and which of them each may name. References point one way. Between projects the compiler sees to that.</summary>
public class LayerTests
{
    // Each folder may name those before it; "" is the project's own folder.
    private static readonly Dictionary<string, string[]> Layers = new()
    {
        ["src/RedKite.Core"] = ["Config", "Logging", "Changes", "Metrics", "Model", "Durability", "Replication", "Cluster", "Acl", "Sessions", "PubSub", "Tracking", "Diagnostics", ""],
        ["src/RedKite.Execution"] = ["Execution", "Loops"],
        ["src/RedKite.Client"] = ["", "Custom"],
        ["src/RedKite.Replication"] = ["Replication", "Following", "Migration", "SlotMoves"],
    };

    // The version is a pair of constants that hosts read too.
    private static readonly string[] NamedEverywhere = ["ServerVersion"];

    private static readonly Regex Declaration = new(@"^(?:\w+ )*(?:class|struct|interface|enum|record(?:\s+struct|\s+class)?|delegate\s+[\w<>\[\]?., ]+?)\s+(\w+)\s*(?:[<({:;]|where\b|$)", RegexOptions.Multiline);
    private static readonly Regex Word = new(@"(?<![\w.@])[A-Z]\w*\b(?!\s*\{\s*get\b)"); // neither members of something nor declared properties

    [Fact]
    public void Folders_name_only_the_layers_below_them()
    {
        Repository.AssertNone(Layers.Keys.SelectMany(project => Violations(project, Repository.Files(project, ".cs").ToDictionary(path => path, path => CSharpText.CodeOnly(Repository.Read(path))))));
    }

    [Fact]
    public void Every_folder_is_a_layer()
    {
        Repository.AssertNone(Layers.SelectMany(layers => Repository.Files(layers.Key, ".cs").Select(path => LayerOf(layers.Key, path)).Distinct().Except(layers.Value).Select(folder => $"{layers.Key}/{folder} is no layer")));
    }

    [Theory]
    [InlineData("Model/A.cs", "class A { B field; }", "Sessions/B.cs", "class B;", 1)] // upwards
    [InlineData("Sessions/A.cs", "class A { B field; }", "Model/B.cs", "class B;", 0)] // downwards
    [InlineData("Model/A.cs", "class A { B Call(C c); }", "Sessions/B.cs", "class B;\nclass C;", 2)]
    [InlineData("Model/Keys/A.cs", "class A { B field; }", "Model/Sets/B.cs", "class B;", 0)] // folders inside a layer
    [InlineData("Model/A.cs", "class A { B field; }", "ServerCore.cs", "class B;", 1)] // the project's own folder
    [InlineData("ServerCore.cs", "class A { B field; }", "Model/B.cs", "class B;", 0)]
    [InlineData("Model/A.cs", "class A { int B { get; set; } }", "Sessions/C.cs", "class B;", 0)]
    [InlineData("Model/A.cs", "class A { int B; void M() => x.B(); }", "Sessions/C.cs", "class C;", 0)]
    public void Names_of_higher_layers_are_found(string path, string source, string otherPath, string otherSource, int violations)
    {
        const string project = "src/RedKite.Core";
        Dictionary<string, string> sources = new() { [$"{project}/{path}"] = source, [$"{project}/{otherPath}"] = otherSource };
        Assert.Equal(violations, Violations(project, sources).Count());
    }

    private static IEnumerable<string> Violations(string project, Dictionary<string, string> sources)
    {
        // Nested types, which are indented, belong to their own file.
        var declaredIn = new Dictionary<string, string>();
        foreach ((string path, string code) in sources)
        {
            foreach (Match match in Declaration.Matches(code)) declaredIn[match.Groups[1].Value] = LayerOf(project, path);
        }

        foreach ((string path, string code) in sources)
        {
            string layer = LayerOf(project, path);
            foreach (string name in Word.Matches(code).Select(match => match.Value).Distinct())
            {
                if (!declaredIn.TryGetValue(name, out string? owner) || owner == layer || NamedEverywhere.Contains(name)) continue;
                if (!IsBelow(project, owner, layer)) yield return $"{path} names {name}, which belongs to {project}/{owner}";
            }
        }
    }

    private static bool IsBelow(string project, string layer, string other) => Array.IndexOf(Layers[project], layer) < Array.IndexOf(Layers[project], other);

    private static string LayerOf(string project, string path)
    {
        string inside = path[(project.Length + 1)..];
        int slash = inside.IndexOf('/', StringComparison.Ordinal);
        return slash < 0 ? "" : inside[..slash];
    }
}
