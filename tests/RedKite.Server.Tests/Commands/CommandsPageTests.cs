using System.Text;
using RedKite.Server.Commands.Server;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

/// <summary>Keeps docs/reference/commands.md complete. Run with REDKITE_WRITE_DOCS=1 to regenerate it.</summary>
public class CommandsPageTests
{
    private const string WriteVariable = "REDKITE_WRITE_DOCS";

    private static readonly string PagePath = Path.Combine(RepositoryRoot.Path, "docs", "reference", "commands.md");

    [Fact]
    public void Page_lists_every_command()
    {
        string page = Page();
        if (Environment.GetEnvironmentVariable(WriteVariable) == "1") File.WriteAllText(PagePath, page);
        Assert.Equal(page, File.ReadAllText(PagePath));
    }

    private static string Page()
    {
        Command[] commands = [.. CommandRows.Table.All
            .Where(command => !command.Is(CommandFlags.Hidden))
            .OrderBy(command => command.FullName, StringComparer.Ordinal)];
        var page = new StringBuilder();
        page.Append("# Commands\n\n");
        page.Append("All commands of RedKite, generated from the command tables. Run the server's tests with `REDKITE_WRITE_DOCS=1` to\n");
        page.Append("regenerate this page. Arity includes the name; a negative one is a minimum. Flags are those of COMMAND INFO, and Since\n");
        page.Append("is the Redis version that introduced the command, or Valkey's where it says so. COMMAND DOCS has the details.\n\n");
        page.Append("Tests compare COMMAND INFO, COMMAND DOCS and COMMAND GETKEYS of every row with Redis 8.0.2, as far as it is not newer. Only sentences\n");
        page.Append("differ: summaries, notes and long complexities are in RedKite's own words. What is newer: [differences.md](differences.md).\n\n");
        page.Append("| Command | Group | Arity | Flags | Since |\n");
        page.Append("|---|---|---|---|---|\n");
        foreach (Command command in commands)
        {
            string name = command.FullName.ToUpperInvariant().Replace('|', ' ');
            string flags = string.Join(' ', CommandInfo.NamesOf(command.Flags));
            string since = (command.Doc.IsOfValkey ? "Valkey " : "") + command.Doc.Since;
            page.Append($"| {name} | {command.Group} | {command.Arity} | {flags} | {since} |\n");
        }

        if (AbsentCommands.ByGroup.Count > 0) AppendAbsent(page, commands);
        else page.Append("\nThese are all commands of Redis 8.0.2, and more.\n");
        return page.ToString();
    }

    private static void AppendAbsent(StringBuilder page, Command[] commands)
    {
        IEnumerable<string> complete = commands.Select(command => command.Group).Distinct().Except(AbsentCommands.ByGroup.Keys).Order(StringComparer.Ordinal);
        page.Append("\n## Not implemented\n\n");
        page.Append($"These groups have every command of Redis 8.0.2: {string.Join(", ", complete)}.\nThe others lack:\n\n");
        page.Append("| Group | Commands |\n");
        page.Append("|---|---|\n");
        foreach ((string group, string[] names) in AbsentCommands.ByGroup)
        {
            page.Append($"| {group} | {string.Join(", ", names.Select(name => name.ToUpperInvariant().Replace('|', ' ')))} |\n");
        }
    }
}
