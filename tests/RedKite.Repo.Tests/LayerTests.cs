using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>The folders of the server, and which of them each may name. References point one way.</summary>
public class LayerTests
{
    private const string Server = "src/RedKite.Server";

    // The folder itself: the public surface, which composes everything else.
    private const string Top = "";

    // Each folder may name those before it. Commands and their execution don't know each other: only the top names both.
    private static readonly string[] Layers = ["Config", "Logging", "Changes", "Metrics", "Model", "Acl", "Sessions", "Durability", "Replication", "Migration", "PubSub", "Tracking", "Diagnostics", "Commands", "Execution", "Loops", "Client", "Following", "Custom", Top];

    // The version is a pair of constants that hosts read too.
    private static readonly string[] NamedEverywhere = ["ServerVersion"];

    private static readonly Regex Declaration = new(@"^(?:\w+ )*(?:class|struct|interface|enum|record(?:\s+struct|\s+class)?|delegate\s+[\w<>\[\]?., ]+?)\s+(\w+)\s*(?:[<({:;]|where\b|$)", RegexOptions.Multiline);
    private static readonly Regex Word = new(@"(?<![\w.@])[A-Z]\w*\b(?!\s*\{\s*get\b)"); // neither members of something nor declared properties

    [Fact]
    public void Folders_name_only_the_layers_below_them()
    {
        Dictionary<string, string> sources = Repository.Files(Server, ".cs").ToDictionary(path => path, path => CSharpText.CodeOnly(Repository.Read(path)));
        Repository.AssertNone(Violations(sources));
    }

    [Fact]
    public void Every_folder_is_a_layer()
    {
        Repository.AssertNone(Repository.Files(Server, ".cs").Select(LayerOf).Distinct().Except(Layers).Select(folder => $"{Server}/{folder} is no layer"));
    }

    [Theory]
    [InlineData("Model/A.cs", "class A { B field; }", "Execution/B.cs", "class B;", 1)] // upwards
    [InlineData("Execution/A.cs", "class A { B field; }", "Model/B.cs", "class B;", 0)] // downwards
    [InlineData("Execution/A.cs", "class A { B field; }", "Commands/Keys/B.cs", "class B;", 1)] // execution names a family
    [InlineData("Commands/Keys/A.cs", "class A { B Call(C c); }", "Execution/B.cs", "class B;\nclass C;", 2)] // a family names execution
    [InlineData("Commands/Keys/A.cs", "class A { B field; }", "Commands/Sets/B.cs", "class B;", 0)] // families may share
    [InlineData("Model/A.cs", "class A { B field; }", "RedKiteServer.cs", "class B;", 1)] // the public surface
    [InlineData("RedKiteServer.cs", "class A { B field; }", "Commands/B.cs", "class B;", 0)]
    [InlineData("Model/A.cs", "class A { int B { get; set; } }", "Loops/C.cs", "class B;", 0)]
    [InlineData("Model/A.cs", "class A { int B; void M() => x.B(); }", "Loops/C.cs", "class C;", 0)]
    public void Names_of_higher_layers_are_found(string path, string source, string otherPath, string otherSource, int violations)
    {
        Dictionary<string, string> sources = new() { [$"{Server}/{path}"] = source, [$"{Server}/{otherPath}"] = otherSource };
        Assert.Equal(violations, Violations(sources).Count());
    }

    private static IEnumerable<string> Violations(Dictionary<string, string> sources)
    {
        // Nested types, which are indented, belong to their own file.
        var declaredIn = new Dictionary<string, string>();
        foreach ((string path, string code) in sources)
        {
            foreach (Match match in Declaration.Matches(code)) declaredIn[match.Groups[1].Value] = LayerOf(path);
        }

        foreach ((string path, string code) in sources)
        {
            string layer = LayerOf(path);
            foreach (string name in Word.Matches(code).Select(match => match.Value).Distinct())
            {
                if (!declaredIn.TryGetValue(name, out string? owner) || owner == layer || NamedEverywhere.Contains(name)) continue;
                if (!MayName(layer, owner)) yield return $"{path} names {name}, which belongs to {Server}/{owner}";
            }
        }
    }

    private static bool MayName(string layer, string other) => IsBelow(other, layer) && !(other == "Commands" && layer != Top);

    private static bool IsBelow(string layer, string other) => Array.IndexOf(Layers, layer) < Array.IndexOf(Layers, other);

    private static string LayerOf(string path)
    {
        string inside = path[(Server.Length + 1)..];
        int slash = inside.IndexOf('/', StringComparison.Ordinal);
        return slash < 0 ? Top : inside[..slash];
    }
}
