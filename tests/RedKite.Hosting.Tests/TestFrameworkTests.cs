using System.Text.RegularExpressions;
using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>The test server in each test framework, as docs/testing.md shows it, from packages.</summary>
[Long]
public sealed partial class TestFrameworkTests : IDisposable
{
    private readonly PackageFeed _feed = new();

    public void Dispose() => _feed.Dispose();

    [Fact]
    public void Nunit()
    {
        AssertPasses("with-nunit", Single("[SetUp]"), "<EnableNUnitRunner>true</EnableNUnitRunner>", "NUnit:5.0.0", "NUnit3TestAdapter:6.3.1");
    }

    // The page has its attributes only.
    [Fact]
    public void Mstest()
    {
        string tests = Single("[SetUp]").Replace("using NUnit.Framework;", "using Microsoft.VisualStudio.TestTools.UnitTesting;", StringComparison.Ordinal)
            .Replace("[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]", "[TestClass]", StringComparison.Ordinal)
            .Replace("[SetUp]", "[TestInitialize]", StringComparison.Ordinal).Replace("[TearDown]", "[TestCleanup]", StringComparison.Ordinal).Replace("[Test]", "[TestMethod]", StringComparison.Ordinal)
            .Replace("Assert.That(_redis.Client.GetString(\"key\"), Is.Null)", "Assert.IsNull(_redis.Client.GetString(\"key\"))", StringComparison.Ordinal);
        AssertPasses("with-mstest", tests, "<EnableMSTestRunner>true</EnableMSTestRunner>", "MSTest:4.5.2");
    }

    [Fact]
    public void Tunit() => AssertPasses("with-tunit", Single("[Before(Test)]"), "", "TUnit:1.81.10");

    private void AssertPasses(string name, string tests, string property, params string[] packages)
    {
        _feed.Pack("RedKite.Server");
        _feed.Pack("RedKite.Testing");
        string project = _feed.Project("Microsoft.NET.Sdk", ["RedKite.Testing", .. packages]).Replace("</PropertyGroup>", property + "</PropertyGroup>", StringComparison.Ordinal);
        string output = _feed.Run(_feed.NewProject(name, project, ("Tests.cs", tests)));
        Assert.Matches("(?s)Test run summary: Passed!.*total: 1.*succeeded: 1", output);
    }

    private static string Single(string attribute)
    {
        string page = File.ReadAllText(Path.Combine(RepositoryRoot.Path, "docs", "testing.md"));
        return Assert.Single(Block().Matches(page).Select(static match => match.Groups[1].Value), block => block.Contains(attribute, StringComparison.Ordinal));
    }

    [GeneratedRegex(@"^```csharp\n(.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Block();
}
