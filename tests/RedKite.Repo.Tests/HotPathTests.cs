using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// The store and the protocol run at least once per command: no LINQ, no tasks. Their projects remove the two
/// namespaces from the implicit usings, so that the compiler refuses the extension methods as well.
/// </summary>
public class HotPathTests
{
    private static readonly string[] HotProjects = ["src/RedKite.Store", "src/RedKite.Protocol"];
    private static readonly string[] ForbiddenNamespaces = ["System.Linq", "System.Threading.Tasks"];

    private static readonly Regex ForbiddenCode = new(@"\bSystem\.Linq\b|\bSystem\.Threading\.Tasks\b|\basync\b|\bawait\b");

    private static readonly Regex CollectionCall = new(@"\bGC\s*\.\s*Collect\s*\(");

    // The calls, and references that could become one; event loops have another property of that name.
    private static readonly Regex HandlerCall = new(@"(?<!\w)Handler\s*(\(\s*ref\b|\.\s*Invoke\b)|\b[cC]ommand\s*\.\s*Handler\b");

    [Fact]
    public void Hot_paths_use_neither_linq_nor_tasks()
    {
        Repository.AssertNone(HotProjects
            .SelectMany(folder => Repository.Files(folder, ".cs"))
            .SelectMany(path => CodeViolations(path, Repository.Read(path))));
    }

    [Fact]
    public void Hot_projects_remove_both_from_the_implicit_usings()
    {
        Repository.AssertNone(HotProjects
            .SelectMany(folder => Repository.Files(folder, ".csproj"))
            .SelectMany(path => UsingViolations(path, Repository.Read(path))));
    }

    // A collection stops every loop, and a host's other work with them. What is large is native memory. MEMORY PURGE asks for it, in the program.
    private static readonly string[] Collecting = ["src/RedKite.Core/Metrics/ManagedHeap.cs"];

    [Fact]
    public void No_source_forces_a_garbage_collection()
    {
        Repository.AssertNone(Repository.Files("src", ".cs")
            .Where(path => !Collecting.Contains(path))
            .Where(path => CollectionCall.IsMatch(CSharpText.CodeOnly(Repository.Read(path))))
            .Select(path => $"{path}: forces a garbage collection"));
    }

    [Theory]
    [InlineData("GC.Collect(2);", true)]
    [InlineData("GC . Collect ();", true)]
    [InlineData("GC.CollectionCount(2); // GC.Collect()", false)]
    public void A_forced_collection_is_found(string source, bool isFound) => Assert.Equal(isFound, CollectionCall.IsMatch(CSharpText.CodeOnly(source)));

    // Access control, locks, metrics and events belong to what surrounds a handler. A new way around them is a decision for a record.
    [Fact]
    public void Handlers_are_called_where_the_record_says()
    {
        IEnumerable<string> calls = Repository.Files("src", ".cs")
            .SelectMany(path => HandlerCall.Matches(CSharpText.CodeOnly(Repository.Read(path))).Select(_ => Path.GetFileNameWithoutExtension(path)));
        Assert.Equal(["CommandExecutor", "CommandRunner", "Invoker.Short"], calls.Order());
    }

    [Theory]
    [InlineData("cmd.Command.Handler(ref cmd);", true)]
    [InlineData("command.Handler (ref context);", true)]
    [InlineData("command.Handler.Invoke(ref cmd);", true)]
    [InlineData("CommandHandler run = command.Handler;", true)]
    [InlineData("Handler(ref cmd);", true)]
    [InlineData("delegate void CommandHandler(ref CommandContext cmd);", false)]
    [InlineData("connection.Loop.Handler.OnOutputBuffered(connection);", false)]
    [InlineData("loop.Handler = sessions;", false)]
    [InlineData("// command.Handler(ref cmd)", false)]
    public void A_call_of_a_handler_is_found(string source, bool isFound) => Assert.Equal(isFound, HandlerCall.IsMatch(CSharpText.CodeOnly(source)));

    [Theory]
    [InlineData("using System.Linq;", 1)]
    [InlineData("return System.Linq.Enumerable.Empty<int>();", 1)]
    [InlineData("internal async Task Run()\n{\n    await Stop();\n}", 2)]
    [InlineData("// an async file system, read through System.Linq", 0)]
    public void Linq_and_tasks_are_reported(string source, int violations)
    {
        Assert.Equal(violations, CodeViolations("A.cs", source).Count());
    }

    [Fact]
    public void Remaining_implicit_using_is_reported()
    {
        Assert.Single(UsingViolations("A.csproj", """<Project><ItemGroup><Using Remove="System.Linq" /></ItemGroup></Project>"""));
    }

    private static IEnumerable<string> CodeViolations(string path, string source)
    {
        string[] lines = CSharpText.CodeOnly(source).Split('\n');
        for (int index = 0; index < lines.Length; index++)
        {
            Match match = ForbiddenCode.Match(lines[index]);
            if (match.Success) yield return $"{path}:{index + 1}: {match.Value} on the hot path";
        }
    }

    private static IEnumerable<string> UsingViolations(string path, string project)
    {
        return ForbiddenNamespaces
            .Where(name => !project.Contains($"<Using Remove=\"{name}\" />", StringComparison.Ordinal))
            .Select(name => $"{path}: {name} is still an implicit using");
    }
}
