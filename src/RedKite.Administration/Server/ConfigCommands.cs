using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Config;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>Config commands, which call Configuration. The table is their single declaration and this file's contents.</summary>
internal sealed class ConfigCommands(Configuration configuration, UserRegistry users, Func<MetricsRegistry> metrics, Action resetCounts, Timeline timeline, AttentionWord attention)
{
    private const CommandFlags Administration = Admin | NoScript | Loading | Stale;

    // Of a request: names, patterns and values become text, and no setting needs that much.
    private const int TextBytesMax = 1 << 20;

    // Of CONFIG GET: each is compared with each setting.
    private const int PatternsMax = 1024;

    internal CommandFamily Family => new("server", "",
    [
        new("CONFIG", -2, None, KeySpecs.None, Help, new("2.0.0", "Depends on subcommand.", "A container for commands on settings."),
        [
            new("GET", -3, Administration, KeySpecs.None, Get, new("2.0.0", "O(N) when N is the number of configuration parameters provided", "Returns the values of settings that match a name or pattern.", "parameter [parameter ...]") { History = [("7.0.0", "Accepts several patterns.")] }),
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("RESETSTAT", 2, Administration, KeySpecs.None, ResetStat, new("2.0.0", "O(1)", "Resets the statistics of INFO.")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("REWRITE", 2, Administration, KeySpecs.None, Rewrite, new("2.8.0", "O(1)", "Writes the current settings to the configuration file.")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("SET", -4, Administration | WalksStripes, KeySpecs.None, Set, new("2.0.0", "O(N) when N is the number of configuration parameters provided", "Sets one or more settings.", "data:<parameter value [parameter value ...]>") { History = [("7.0.0", "Accepts several settings.")] }) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
        ]),
    ]);

    // CONFIG GET parameter [parameter ...]
    private void Get(ref CommandContext cmd)
    {
        if (cmd.Arguments.Bytes > TextBytesMax)
        {
            cmd.Reply.Error($"ERR CONFIG GET failed - patterns have more than {TextBytesMax} bytes");
            return;
        }

        if (cmd.Count - 2 > PatternsMax)
        {
            cmd.Reply.Error($"ERR CONFIG GET failed - more than {PatternsMax} patterns");
            return;
        }

        var patterns = new string[cmd.Count - 2];
        for (int i = 0; i < patterns.Length; i++) patterns[i] = cmd.Text(i + 2);
        List<KeyValuePair<string, string>> found = configuration.Get(patterns, cmd.BeginPatterns());
        if (!cmd.Environment.UnitWork.Patterns.EndPatternsOrReply(cmd.Reply, cmd.Reply.Length)) return;
        cmd.Reply.Map(found.Count);
        foreach ((string name, string value) in found)
        {
            cmd.Reply.Bulk(name);
            cmd.Reply.Bulk(value);
        }
    }

    // CONFIG SET parameter value [parameter value ...]
    private void Set(ref CommandContext cmd)
    {
        if (cmd.Count % 2 != 0)
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (cmd.Arguments.Bytes > TextBytesMax)
        {
            for (int i = 3; i < cmd.Count; i += 2) cmd.Arguments.Redact(i);
            cmd.Reply.Error($"ERR CONFIG SET failed - names and values have more than {TextBytesMax} bytes");
            return;
        }

        var pairs = new KeyValuePair<string, string>[(cmd.Count - 2) / 2];
        for (int i = 0; i < pairs.Length; i++)
        {
            pairs[i] = new(cmd.Text((2 * i) + 2), cmd.Text((2 * i) + 3));
            if (SettingTable.Find(pairs[i].Key)?.Has(SettingFlags.Sensitive) == true) cmd.Arguments.Redact((2 * i) + 3);
        }

        if ((attention.Flags & (ServerAttention.Loading | ServerAttention.LoadingBeside)) != 0 && Array.Exists(pairs, static pair => SettingTable.Find(pair.Key)?.Has(SettingFlags.NotWhileLoading) == true))
        {
            cmd.Reply.Error("LOADING Redis is loading the dataset in memory"u8);
            return;
        }

        bool isLocal = cmd.Session.Connection is null || cmd.Session.Connection.RemoteAddress.IsLoopback;
        string? error = configuration.Set(pairs, isLocal);
        if (error is null)
        {
            // The names as the table has them, not as the client wrote them.
            foreach ((string name, _) in pairs)
            {
                timeline.Add(TimelineKind.SettingChanged, cmd.NowMs, 0, SettingTable.Find(name)?.Name ?? "");
                configuration.NoteChange(name, cmd.NowMs);
            }
        }

        ReplyOutcome(cmd.Reply, error);
    }

    // CONFIG REWRITE
    private void Rewrite(ref CommandContext cmd) => ReplyOutcome(cmd.Reply, configuration.Rewrite(UserDeclarations.LinesOf(configuration, users)));

    // CONFIG RESETSTAT
    private void ResetStat(ref CommandContext cmd)
    {
        metrics().Reset();
        resetCounts();
        cmd.Reply.Ok();
    }

    // CONFIG HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "GET <pattern>",
        "    Return the names and values of settings that match <pattern>.",
        "RESETSTAT",
        "    Reset the statistics of INFO.",
        "REWRITE",
        "    Write the current settings to the configuration file.",
        "SET <directive> <value>",
        "    Give the setting <directive> a new <value>.");

    private static void ReplyOutcome(ReplyWriter reply, string? error)
    {
        if (error is null) reply.Ok();
        else reply.Error("ERR " + error);
    }
}
