using RedKite.TestSupport;

namespace RedKite.Hosting.Tests;

/// <summary>The site that docfx makes of the pages and of the packages' documentation (docfx.json).</summary>
public sealed class SiteTests
{
    [Fact]
    [Long]
    public void Site_has_the_pages_and_the_public_types_of_every_package()
    {
        using var feed = new PackageFeed();
        string docfx = feed.InstallTool("docfx", "2.81.0", "docfx");
        string output = feed.Execute(docfx, Path.Combine(RepositoryRoot.Path, "docfx.json"));
        Assert.Contains("0 error(s)", output, StringComparison.Ordinal);
        Assert.DoesNotContain("InvalidCref", output, StringComparison.Ordinal);
        string site = Path.Combine(RepositoryRoot.Path, "artifacts", "site", "pages");
        foreach (string page in (string[])["README", "docs/getting-started", "api/RedKite.RedKiteClient", "api/RedKite.Testing.RedKiteTestServer", "api/Microsoft.Extensions.DependencyInjection.RedKiteServiceCollectionExtensions", "api/Aspire.Hosting.RedKiteBuilderExtensions"])
        {
            Assert.True(File.Exists(Path.Combine(site, page + ".html")), page);
        }

        string client = File.ReadAllText(Path.Combine(site, "api", "RedKite.RedKiteCommands.html"));
        Assert.Contains("Copies a string's bytes, straight from the store", client.Replace("&#39;", "'", StringComparison.Ordinal), StringComparison.Ordinal);
    }
}
