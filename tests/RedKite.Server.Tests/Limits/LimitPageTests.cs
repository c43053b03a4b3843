using System.Text;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Limits;

/// <summary>Keeps the table of limits in docs/security.md complete. Run with REDKITE_WRITE_DOCS=1 to regenerate it.</summary>
public class LimitPageTests
{
    private const string WriteVariable = "REDKITE_WRITE_DOCS";
    private const string Head = "| Kept | Setting | Default | At the limit | Metric |\n|---|---|---|---|---|\n";

    private static readonly string PagePath = Path.Combine(RepositoryRoot.Path, "docs", "security.md");

    [Fact]
    public void Page_lists_every_limit()
    {
        string page = File.ReadAllText(PagePath);
        int start = page.IndexOf(Head, StringComparison.Ordinal);
        Assert.True(start > 0, "docs/security.md has no table of limits");
        int end = page.IndexOf("\n\n", start, StringComparison.Ordinal) + 1;
        string expected = page[..start] + Table() + page[end..];
        if (Environment.GetEnvironmentVariable(WriteVariable) == "1") File.WriteAllText(PagePath, expected);
        Assert.Equal(expected, File.ReadAllText(PagePath));
    }

    private static string Table()
    {
        var table = new StringBuilder(Head);
        foreach (LimitRow row in LimitTable.Rows)
        {
            string setting = row.Setting is null ? "fixed" : $"`{row.Setting}`";
            string value = row.Setting is null || row.Fixed.Length > 0 ? row.Fixed : DefaultOf(SettingTable.Find(row.Setting)!);
            table.Append($"| {row.Kept} | {setting} | {value} | {row.AtLimit} | `{row.MetricName}` |\n");
        }

        return table.ToString();
    }

    private static string DefaultOf(Setting setting) => setting.DefaultText == "0" ? "none" : setting.DefaultText;
}
