using System.Text.RegularExpressions;

namespace RedKite.Repo.Tests;

/// <summary>
/// docs/locking.md and the code name the same locks. The page writes a lock as `File._field`, where File is the stem of
/// the file that declares the field.
/// </summary>
public class LockTests
{
    private const string Page = "docs/locking.md";

    private static readonly Regex Declaration = new(
        @"^\s*(?:(?:private|internal|protected|public|static|readonly|volatile)\s+)+"
        + @"(?:(?:\w*Lock|ReaderWriterLockSlim|SemaphoreSlim|Mutex)\s+(?<name>\w+)"
        + @"|(?:object|u?int|u?long)\s+(?<name>_lock|_gate|_sync|_\w+Lock))\s*(?:=|;)");

    private static readonly Regex DocumentedLock = new(@"`(?<file>[A-Z]\w*)\.(?<name>_\w+)`");

    [Fact]
    public void Every_lock_is_documented()
    {
        string page = Repository.Read(Page);
        Repository.AssertNone(Repository.Files("src", ".cs").SelectMany(path => UndocumentedLocks(path, Repository.Read(path), page)));
    }

    [Fact]
    public void Every_documented_lock_exists()
    {
        Repository.AssertNone(MissingLocks(Repository.Read(Page), Repository.Files("src", ".cs"), Repository.Read));
    }

    [Theory]
    [InlineData("    private readonly Lock _gate = new();", 1)]
    [InlineData("    private SpinLock _turn;", 1)]
    [InlineData("    private int _lock;", 1)]
    [InlineData("    private readonly object _sync = new object();", 1)]
    [InlineData("    private static readonly SemaphoreSlim Turn = new(1);", 1)]
    [InlineData("    private readonly Lock _documented = new();", 0)]
    [InlineData("    private int _clock;", 0)]
    [InlineData("    // private readonly Lock _gate = new();", 0)]
    public void Undocumented_lock_is_reported(string source, int violations)
    {
        Assert.Equal(violations, UndocumentedLocks("src/A/Stripe.cs", source, "`Stripe._documented`").Count());
    }

    [Theory]
    [InlineData("first `Stripe._turn`", 0)]
    [InlineData("first `Stripe._gone`", 1)]
    [InlineData("first `Gone._turn`", 1)]
    public void Missing_lock_in_the_code_is_reported(string page, int violations)
    {
        Assert.Equal(violations, MissingLocks(page, ["src/A/Stripe.cs"], _ => "private SpinLock _turn;").Count());
    }

    private static IEnumerable<string> UndocumentedLocks(string path, string source, string page)
    {
        string stem = Path.GetFileNameWithoutExtension(path);
        return CSharpText.CodeOnly(source).Split('\n')
            .Select(line => Declaration.Match(line))
            .Where(match => match.Success)
            .Select(match => $"{stem}.{match.Groups["name"].Value}")
            .Where(name => !page.Contains($"`{name}`", StringComparison.Ordinal))
            .Select(name => $"{path}: {Page} does not name `{name}`");
    }

    private static IEnumerable<string> MissingLocks(string page, IEnumerable<string> files, Func<string, string> read)
    {
        foreach (Match match in DocumentedLock.Matches(page))
        {
            string name = match.Groups["name"].Value;
            bool declared = files
                .Where(path => Path.GetFileNameWithoutExtension(path) == match.Groups["file"].Value)
                .Any(path => Regex.IsMatch(CSharpText.CodeOnly(read(path)), $@"\b{name}\b"));
            if (!declared) yield return $"{Page}: {match.Value} is declared nowhere";
        }
    }
}
