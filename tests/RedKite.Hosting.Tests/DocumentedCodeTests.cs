using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>
/// Every C# block of the documentation compiles without an error or warning, as a reader would compile it: with the implicit usings of its kind of project and
/// the usings that it shows itself. A block without usings continues its page: it has those of the page's blocks before it. What a block takes from the reader's program
/// (<c>secret</c>, <c>app</c>, <c>PriceCache</c>) is declared in <see cref="Surroundings"/>. No block is exempt.
/// </summary>
public sealed class DocumentedCodeTests
{
    private const string Console = "System; System.Collections.Generic; System.IO; System.Linq; System.Net.Http; System.Threading; System.Threading.Tasks";

    private const string Web = Console + "; System.Net.Http.Json; Microsoft.AspNetCore.Builder; Microsoft.AspNetCore.Hosting; Microsoft.AspNetCore.Http; Microsoft.AspNetCore.Routing; "
        + "Microsoft.Extensions.Configuration; Microsoft.Extensions.DependencyInjection; Microsoft.Extensions.Hosting; Microsoft.Extensions.Logging";

    private const string Aspire = Console + "; Aspire.Hosting; Aspire.Hosting.ApplicationModel";

    private const string TUnit = Console + "; TUnit.Core; static TUnit.Core.HookType; TUnit.Assertions";

    // A kind of project by what only its blocks have. The others are console programs and xunit tests.
    private static readonly (string Has, string Usings)[] Kinds =
    [
        ("DistributedApplication.", Aspire), ("[Before(Test)]", TUnit), ("WebApplication.", Web), ("app.Map", Web), ("ervices.", Web),
    ];

    // Members of a class, so that a block's own variables of the same name hide them.
    private const string Surroundings = """
        global using static Reader;

        static class Reader
        {
            public static RedKite.RedKiteServer server => null!;
            public static RedKite.RedKiteClient redis => null!;
            public static RedKite.RedKiteOptions options => null!;
            public static Microsoft.AspNetCore.Builder.WebApplicationBuilder builder => null!;
            public static Microsoft.AspNetCore.Builder.WebApplication app => null!;
            public static Microsoft.Extensions.DependencyInjection.IServiceCollection services => null!;
            public static System.Threading.CancellationToken cancellationToken => default;
            public static string secret => "";
            public static void Handle(string? text) { }
            public static void Log(string name, string client) { }
        }

        class Cart(string address)
        {
            public System.Threading.Tasks.Task AddAsync(string item) => System.Threading.Tasks.Task.FromResult(address + item);
            public System.Threading.Tasks.Task<string[]> ItemsAsync() => null!;
        }

        class PriceCache(string address)
        {
            public System.Threading.Tasks.Task<int> GetAsync(string item) => System.Threading.Tasks.Task.FromResult((address + item).Length);
        }

        namespace Projects
        {
            class Web : Aspire.Hosting.IProjectMetadata { public string ProjectPath => ""; }
        }

        // As much of the test frameworks as the blocks use; TestFrameworkTests runs the blocks with the real ones.
        namespace NUnit.Framework
        {
            enum LifeCycle { InstancePerTestCase }
            class FixtureLifeCycleAttribute(LifeCycle cycle) : System.Attribute { public LifeCycle Cycle => cycle; }
            class SetUpAttribute : System.Attribute;
            class TearDownAttribute : System.Attribute;
            class TestAttribute : System.Attribute;
            class Constraint;
            static class Is { public static Constraint Null => null!; }
            static class Assert { public static void That(object? value, Constraint constraint) { } }
        }

        namespace TUnit.Core
        {
            enum HookType { Test }
            class BeforeAttribute(HookType type) : System.Attribute { public HookType Type => type; }
            class AfterAttribute(HookType type) : System.Attribute { public HookType Type => type; }
            class TestAttribute : System.Attribute;
        }

        namespace TUnit.Assertions
        {
            class Value { public System.Threading.Tasks.Task IsNull() => null!; }
            static class Assert { public static Value That(object? value) => null!; }
        }
        """;

    private static readonly CSharpParseOptions Parsing = new(LanguageVersion.Latest);
    private static readonly SyntaxTree SurroundingTree = CSharpSyntaxTree.ParseText(Surroundings, Parsing, "surroundings", cancellationToken: TestContext.Current.CancellationToken);
    private static readonly MetadataReference[] References =
    [
        .. ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator).Select(static path => MetadataReference.CreateFromFile(path)),
    ];

    [Fact]
    public void Every_block_of_code_compiles()
    {
        var faults = new List<string>();
        int count = 0;
        foreach (IGrouping<string, DocumentationBlock> page in DocumentationBlocks.All().Where(static block => block.Language == "csharp").GroupBy(static block => block.Page))
        {
            var before = new List<string>();
            foreach (DocumentationBlock block in page)
            {
                faults.AddRange(Faults(block, before));
                count++;
            }
        }

        TestContext.Current.TestOutputHelper?.WriteLine($"{count} blocks were compiled, none is exempt.");
        Assert.True(faults.Count == 0, string.Join('\n', faults));
        Assert.True(count > 20, $"only {count} blocks were found");
    }

    // A block of another language would be skipped in silence. What mermaid draws is compared with the projects' references by ProjectTests.
    [Fact]
    public void Every_block_says_what_it_is()
    {
        Assert.Empty(DocumentationBlocks.All().Where(static block => block.Language is not ("csharp" or "json" or "mermaid" or "")).Select(static block => $"{block}: no test knows {block.Language}"));
        Assert.Empty(DocumentationBlocks.All().Where(static block => block.Language.Length == 0 && block.Lines.Any(static line => line.StartsWith("using ", StringComparison.Ordinal) || line.EndsWith(';'))).Select(static block => $"{block}: it looks like C#; write ```csharp"));
    }

    [Theory]
    [InlineData("RedKiteOptions o = new();", "error CS0246")]
    [InlineData("using RedKite;\nRedKiteOptions o = new() { Prot = 0 };", "error CS0117")]
    [InlineData("using RedKite;\nawait using RedKiteServer own = await RedKiteServer.StartAsync();\nstring s = own.CreateClient().GetString(\"key\");", "warning CS8600")]
    [InlineData("using RedKite.Testing;\npublic class A { [Fact] public void B() { } }", "error CS0246")]
    public void Block_that_does_not_compile_is_reported(string text, string fault)
    {
        Assert.Contains(Faults(new("page.md", 1, "csharp", text.Split('\n')), []), found => found.Contains(fault, StringComparison.Ordinal));
    }

    // The usings of the page's blocks so far are read and added to.
    private static IEnumerable<string> Faults(DocumentationBlock block, List<string> before)
    {
        CancellationToken cancellation = TestContext.Current.CancellationToken;
        SyntaxTree tree = CSharpSyntaxTree.ParseText(block.Text, Parsing, block.Page, cancellationToken: cancellation);
        CompilationUnitSyntax root = tree.GetCompilationUnitRoot(cancellation);
        string kind = Kinds.FirstOrDefault(candidate => block.Text.Contains(candidate.Has, StringComparison.Ordinal)).Usings ?? Console;
        string usings = string.Concat(kind.Split("; ").Concat(root.Usings.Count == 0 ? before : []).Distinct().Select(static name => $"global using {name};\n"));
        before.AddRange(root.Usings.Select(static item => item.Name!.ToString()));
        bool isProgram = root.Members.OfType<GlobalStatementSyntax>().Any();
        var options = new CSharpCompilationOptions(isProgram ? OutputKind.ConsoleApplication : OutputKind.DynamicallyLinkedLibrary, nullableContextOptions: NullableContextOptions.Enable);
        var compilation = CSharpCompilation.Create("block", [tree, SurroundingTree, CSharpSyntaxTree.ParseText(usings, Parsing, "usings", cancellationToken: cancellation)], References, options);
        return compilation.GetDiagnostics(cancellation).Where(static fault => fault.Severity >= DiagnosticSeverity.Warning)
            .Select(fault => $"{block.Page}:{block.Line + fault.Location.GetLineSpan().StartLinePosition.Line}: {(fault.Severity == DiagnosticSeverity.Error ? "error" : "warning")} {fault.Id}: {fault.GetMessage(null)}");
    }
}
