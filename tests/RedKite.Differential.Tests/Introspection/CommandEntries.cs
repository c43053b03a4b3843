using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Introspection;

/// <summary>
/// The entries of COMMAND and COMMAND DOCS of one server by full name ("get", "client|list"), each as named parts in text
/// form, so that two servers' entries can be compared part by part.
/// </summary>
internal static class CommandEntries
{
    private static readonly string[] InfoParts = ["name", "arity", "flags", "first key", "last key", "step", "categories", "tips"];

    /// <summary>COMMAND: the entries of all commands and subcommands. Notes of key specifications are reduced to their presence.</summary>
    public static Dictionary<string, Dictionary<string, string>> Info(RespConnection connection)
    {
        Dictionary<string, Dictionary<string, string>> entries = [];
        AddInfo(entries, connection.Run("COMMAND").Items);
        return entries;
    }

    /// <summary>
    /// COMMAND DOCS: the entries of all commands and subcommands. Summaries are reduced to their presence, and the history to
    /// its versions.
    /// </summary>
    /// <param name="connection">The server.</param>
    /// <param name="upTo">What came later is left out; null: Redis 8.0.2.</param>
    public static Dictionary<string, Dictionary<string, string>> Docs(RespConnection connection, Version? upTo = null)
    {
        Dictionary<string, Dictionary<string, string>> entries = [];
        AddDocs(entries, connection.Run("COMMAND DOCS"), upTo);
        return entries;
    }

    /// <summary>The values of one field of COMMAND DOCS, such as the summary, of all commands that have it.</summary>
    public static Dictionary<string, string> Field(RespConnection connection, string field)
    {
        Dictionary<string, string> values = [];
        AddField(connection.Run("COMMAND DOCS"));
        return values;

        void AddField(RespValue docs)
        {
            for (int i = 0; i < docs.Items.Count; i += 2)
            {
                if (docs.Items[i + 1][field] is { } value) values.Add(docs.Items[i].Text, value.Text);
                if (docs.Items[i + 1]["subcommands"] is { } subcommands) AddField(subcommands);
            }
        }
    }

    /// <summary>One line for each part of a common command that differs.</summary>
    public static List<string> Differences(Dictionary<string, Dictionary<string, string>> oracle, Dictionary<string, Dictionary<string, string>> subject)
    {
        List<string> differences = [];
        foreach ((string name, Dictionary<string, string> expected) in oracle)
        {
            if (!subject.TryGetValue(name, out Dictionary<string, string>? actual)) continue;
            foreach (string part in expected.Keys.Union(actual.Keys))
            {
                string left = expected.GetValueOrDefault(part, "(none)");
                string right = actual.GetValueOrDefault(part, "(none)");
                if (left != right) differences.Add($"{name} {part}\n    {left} (oracle)\n    {right}");
            }
        }

        return differences;
    }

    private static void AddInfo(Dictionary<string, Dictionary<string, string>> entries, IReadOnlyList<RespValue> commands)
    {
        foreach (RespValue command in commands)
        {
            Dictionary<string, string> parts = [];
            parts["shape"] = $"{command.Marker}{command.Items.Count}";
            for (int i = 0; i < InfoParts.Length; i++) parts[InfoParts[i]] = command.Items[i].ToString();
            parts["keys"] = $"{command.Items[8].Marker}{string.Join('\n', command.Items[8].Items.Select(WithoutNote))}";
            parts["subcommands"] = $"{command.Items[9].Marker}";
            entries.Add(command.Items[0].Text, parts);
            AddInfo(entries, command.Items[9].Items);
        }
    }

    private static void AddDocs(Dictionary<string, Dictionary<string, string>> entries, RespValue docs, Version? upTo)
    {
        for (int i = 0; i < docs.Items.Count; i += 2)
        {
            RespValue entry = WithoutNewer(docs.Items[i + 1], upTo);
            Dictionary<string, string> parts = [];
            parts["fields"] = $"{entry.Marker} {string.Join(' ', entry.Items.Where((_, at) => at % 2 == 0).Select(field => field.Text))}";
            for (int at = 0; at < entry.Items.Count; at += 2)
            {
                string field = entry.Items[at].Text;
                parts[field] = field switch
                {
                    "summary" => $"{entry.Items[at + 1].Marker}",
                    "history" => $"{entry.Items[at + 1].Marker}{string.Join(' ', entry.Items[at + 1].Items.Select(change => $"{change.Marker}{change.Items.Count} {change.Items[0]}"))}",
                    "subcommands" => $"{entry.Items[at + 1].Marker}",
                    _ => entry.Items[at + 1].ToString(),
                };
            }

            entries.Add(docs.Items[i].Text, parts);
            if (entry["subcommands"] is { } subcommands) AddDocs(entries, subcommands, upTo);
        }
    }

    // An entry or argument without the arguments of newer versions, and without the history since 8.0.2, in which Redis 8.6 leaves out some changes.
    private static RespValue WithoutNewer(RespValue entry, Version? upTo)
    {
        List<RespValue> fields = [];
        for (int i = 0; i < entry.Items.Count; i += 2)
        {
            RespValue value = entry.Items[i + 1];
            if (i > 0 && entry.Items[0].Text == "name" && entry.Items[i].Text == "since" && RedisVersion.IsNewer(value.Text)) continue; // of an argument
            RespValue[] kept = entry.Items[i].Text switch
            {
                "history" => [.. value.Items.Where(change => !RedisVersion.IsNewer(change.Items[0].Text))],
                "arguments" => [.. value.Items.Where(argument => !RedisVersion.IsNewer(argument["since"]?.Text ?? "", upTo)).Select(argument => WithoutNewer(argument, upTo))],
                _ => [.. value.Items],
            };
            if (kept.Length < value.Items.Count && kept.Length == 0) continue;
            fields.AddRange([entry.Items[i], value.IsAggregate ? RespValue.Aggregate(value.Marker, kept) : value]);
        }

        return RespValue.Aggregate(entry.Marker, fields);
    }

    // Notes are sentences in RedKite's own words; both servers must have one.
    private static string WithoutNote(RespValue keys)
    {
        RespValue? note = keys["notes"];
        return RespValue.Aggregate(keys.Marker, [.. keys.Items.Where(item => note is null || !ReferenceEquals(item, note))]).ToString();
    }
}
