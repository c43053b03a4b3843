using System.Text;
using RedKite.Server.Config;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Config;

/// <summary>Keeps docs/reference/settings.md complete. Run with REDKITE_WRITE_DOCS=1 to regenerate it.</summary>
public class SettingsPageTests
{
    private const string WriteVariable = "REDKITE_WRITE_DOCS";

    private static readonly string PagePath = Path.Combine(RepositoryRoot.Path, "docs", "reference", "settings.md");

    [Fact]
    public void Page_lists_every_setting_with_its_effect()
    {
        string page = Page();
        if (Environment.GetEnvironmentVariable(WriteVariable) == "1") File.WriteAllText(PagePath, page);
        Assert.Equal(page, File.ReadAllText(PagePath));
    }

    [Fact]
    public void Every_setting_that_works_has_one_purpose()
    {
        string[] grouped = [.. SettingGroups.All.SelectMany(group => group.Names)];
        Assert.Equal(grouped.Length, grouped.Distinct().Count());
        Assert.Equal(Working().Select(row => row.Name).Order(StringComparer.Ordinal), grouped.Order(StringComparer.Ordinal));
        Assert.Equal(20, SettingGroups.First.Count);
        Assert.Empty(SettingGroups.First.Keys.Except(grouped));
    }

    private static IEnumerable<Setting> Working() => SettingTable.Rows.Where(row => !row.Has(SettingFlags.Hidden) && row.NoEffect is null && (row.Refusal is null || row.IsTyped));

    private static string Page()
    {
        Setting[] rows = [.. SettingTable.Rows.Where(row => !row.Has(SettingFlags.Hidden)).OrderBy(row => row.Name, StringComparer.Ordinal)];
        Setting[] working = [.. Working()];
        Setting[] refusing = [.. rows.Where(row => row.Refusal is not null)];
        Setting[] ineffective = [.. rows.Where(row => row.NoEffect is not null)];

        var page = new StringBuilder();
        page.Append("# Settings\n\n");
        page.Append("Every directive of redis.conf in Redis 8.0, and RedKite's own, generated from the table of settings. Run the server's\n");
        page.Append("tests with `REDKITE_WRITE_DOCS=1` to regenerate this page. A directive works, or it has no effect here for a reason, or\n");
        page.Append("the server refuses values that would be dangerous to ignore. CONFIG GET and CONFIG SET know all of them. `include`,\n");
        page.Append("`rename-command` and `user` work in files; `loadmodule` is refused.\n\n");

        page.Append("## The first twenty\n\n");
        page.Append("What people change first. `redkite --help SETTING` describes any setting.\n\n");
        page.Append("| Setting | Default | |\n|---|---|---|\n");
        foreach ((string name, string text) in SettingGroups.First) page.Append($"| {name} | {DefaultOf(SettingTable.Find(name)!)} | {Sentence(text)} |\n");

        page.Append("\n## Settings that work\n\n");
        page.Append("\"start\" means that the value is read once, when the server starts; \"protected\" that CONFIG SET needs\n");
        page.Append("`enable-protected-configs`. Every other setting can change at any time.\n\n");
        foreach (SettingGroup group in SettingGroups.All)
        {
            page.Append($"### {group.Title}\n\n");
            page.Append("| Setting | Default | Values | Changes | |\n|---|---|---|---|---|\n");
            foreach (Setting row in group.Names.Select(name => working.Single(row => row.Name == name)))
            {
                string changes = row.Has(SettingFlags.Immutable) ? "start" : row.Has(SettingFlags.Protected) ? "protected" : "";
                page.Append($"| {NameOf(row)} | {DefaultOf(row)} | {row.Expected} | {changes} | {Sentence(row.Remark ?? SettingGroups.First.GetValueOrDefault(row.Name))} |\n");
            }

            page.Append('\n');
        }

        page.Append("## Values that are refused\n\n");
        page.Append("The server does not start with such a value, and CONFIG SET fails. One line says which setting and why.\n\n");
        page.Append("| Setting | Default | Refused values | Why |\n|---|---|---|---|\n");
        foreach (Setting row in refusing) page.Append($"| {NameOf(row)} | {DefaultOf(row)} | {row.Refusal!.Values} | {Sentence(row.Refusal.Reason)} |\n");

        page.Append("\n## Settings without effect\n\n");
        page.Append("Values are checked as in Redis and remembered for CONFIG GET. A value other than the default is one warning in the log,\n");
        page.Append("when the server starts and when CONFIG SET changes it.\n\n");
        page.Append("| Setting | Default | Why |\n|---|---|---|\n");
        foreach (Setting row in ineffective) page.Append($"| {NameOf(row)} | {DefaultOf(row)} | {Sentence(row.NoEffect)} |\n");
        return page.ToString();
    }

    private static string NameOf(Setting row) => row.Alias is null ? row.Name : $"{row.Name}, {row.Alias}";

    private static string DefaultOf(Setting row) => row.DefaultText.Length == 0 ? "" : $"`{row.DefaultText}`";

    private static string Sentence(string? clause) => clause is null ? "" : $"{char.ToUpperInvariant(clause[0])}{clause[1..]}.";
}
