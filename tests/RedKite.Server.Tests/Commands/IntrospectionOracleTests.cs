using RedKite.Protocol;
using RedKite.Server.Commands.Server;
using RedKite.Server.Model;
using RedKite.Testing;

namespace RedKite.Server.Tests.Commands;

/// <summary>
/// Compares COMMAND INFO and COMMAND DOCS of every command with Redis 7.0's, including types. Where RedKite follows a
/// newer Redis, a table has the difference and its reason; an unnecessary entry fails too.
/// </summary>
public sealed class IntrospectionOracleTests
{
    // Commands and subcommands that Redis 7.0 lacks.
    private static readonly Dictionary<string, string> Newer = new()
    {
        ["client|no-touch"] = "since 7.2",
        ["client|setinfo"] = "since 7.2",
        ["hexpire"] = "since 7.4",
        ["hexpireat"] = "since 7.4",
        ["hexpiretime"] = "since 7.4",
        ["hgetdel"] = "since 8.0",
        ["hgetex"] = "since 8.0",
        ["hpersist"] = "since 7.4",
        ["hpexpire"] = "since 7.4",
        ["hpexpireat"] = "since 7.4",
        ["hpexpiretime"] = "since 7.4",
        ["hpttl"] = "since 7.4",
        ["hsetex"] = "since 8.0",
        ["httl"] = "since 7.4",
        ["waitaof"] = "since 7.2",
    };

    // Subcommands of Redis 7.0 that RedKite lacks.
    private static readonly Dictionary<string, string> Missing = new()
    {
        ["acl|cat"] = "there is one user, who may do everything",
        ["acl|deluser"] = "there is one user, who may do everything",
        ["acl|dryrun"] = "there is one user, who may do everything",
        ["acl|genpass"] = "there is one user, who may do everything",
        ["acl|getuser"] = "there is one user, who may do everything",
        ["acl|load"] = "there is one user, who may do everything",
        ["acl|log"] = "there is one user, who may do everything",
        ["acl|save"] = "there is one user, who may do everything",
        ["acl|setuser"] = "there is one user, who may do everything",
    };

    // Differences, as "command part", and their reasons.
    private static readonly Dictionary<string, string> Allowed = new()
    {
        ["append complexity"] = "in RedKite's words: Redis explains its string library",
        ["bitop arguments"] = "the operation is one of four words since 7.2",
        ["client|kill arguments"] = "MAXAGE since 7.4, and SKIPME has its two values since 7.2",
        ["getrange complexity"] = "in RedKite's words, without the remark on short strings",
        ["dump complexity"] = "in RedKite's words",
        ["restore complexity"] = "in RedKite's words",
        ["restore-asking complexity"] = "in RedKite's words",
        ["xadd complexity"] = "in RedKite's words",
        ["xack complexity"] = "in RedKite's words",
        ["xdel complexity"] = "in RedKite's words",
        ["xpending complexity"] = "in RedKite's words",
        ["xclaim complexity"] = "in RedKite's words",
        ["xrange complexity"] = "in RedKite's words, without the remark on COUNT",
        ["xrevrange complexity"] = "in RedKite's words, without the remark on COUNT",
        ["xtrim complexity"] = "in RedKite's words, without the remark on nodes",
        ["xread complexity"] = "in RedKite's words, without the remark on COUNT",
        ["xreadgroup complexity"] = "in RedKite's words, without the remark on COUNT",
        ["xgroup|destroy complexity"] = "in RedKite's words",
        ["setrange complexity"] = "in RedKite's words, without the remark on short strings",
        ["substr complexity"] = "in RedKite's words, without the remark on short strings",
        ["geohash arguments"] = "members are optional since 7.2",
        ["geopos arguments"] = "members are optional since 7.2",
        ["zscan complexity"] = "without the second full stop",
        ["zrank arity"] = "WITHSCORE since 7.2",
        ["zrank arguments"] = "WITHSCORE since 7.2",
        ["zrevrank arity"] = "WITHSCORE since 7.2",
        ["zrevrank arguments"] = "WITHSCORE since 7.2",
        ["hscan arguments"] = "NOVALUES since 7.4",
        ["lcs arguments"] = "the length has a name of its own since 7.2",
    };

    [Fact]
    public void Command_info_and_docs_match_redis()
    {
        using Oracle oracle = Oracle.OfRedis7();
        using RespConnection redis = RespConnection.Connect(oracle.Port);
        redis.Run("HELLO 3");
        var differences = new Dictionary<string, string>();
        foreach (Command command in CommandRows.Table.Named)
        {
            CompareInfo(command, redis.Run($"COMMAND INFO {command.Name}").Items[0], differences);
            if (redis.Run($"COMMAND DOCS {command.Name}")[command.Name] is { } docs) CompareDocs(command, docs, differences);
        }

        string[] unexpected = [.. differences.Where(difference => !IsAllowed(difference.Key)).Select(difference => $"{difference.Key}: {difference.Value}")];
        Assert.True(unexpected.Length == 0, string.Join('\n', unexpected.Order(StringComparer.Ordinal)));
        string[] stale = [.. Newer.Keys.Concat(Missing.Keys).Concat(Allowed.Keys).Where(name => !differences.Keys.Any(key => key == name || key == name + " new" || key == name + " missing"))];
        Assert.True(stale.Length == 0, "Allowed but not different: " + string.Join(", ", stale));
    }

    private static bool IsAllowed(string difference)
    {
        if (Allowed.ContainsKey(difference)) return true;
        string name = difference.Split(' ')[0];
        return (difference.EndsWith(" new", StringComparison.Ordinal) && Newer.ContainsKey(name))
            || (difference.EndsWith(" missing", StringComparison.Ordinal) && Missing.ContainsKey(name));
    }

    private static void CompareInfo(Command command, RespValue redis, Dictionary<string, string> differences)
    {
        if (redis.IsNull)
        {
            differences.Add($"{command.FullName} new", "Redis 7.0 has no such command");
            return;
        }

        RespValue own = Reply(reply => CommandInfo.Write(reply, command));
        string[] parts = ["name", "arity", "flags", "first-key", "last-key", "step", "categories", "tips"];
        for (int i = 0; i < parts.Length; i++) Note(command, parts[i], own.Items[i].ToString(), redis.Items[i].ToString(), differences);
        string[] ownKeys = [.. own.Items[8].Items.Select(WithoutNotes)];
        Note(command, "keys", string.Join('\n', ownKeys), string.Join('\n', redis.Items[8].Items.Select(WithoutNotes)), differences);

        Dictionary<string, RespValue> subcommands = redis.Items[9].Items.ToDictionary(subcommand => subcommand.Items[0].Text);
        foreach (Command subcommand in command.Subcommands)
        {
            CompareInfo(subcommand, subcommands.GetValueOrDefault(subcommand.FullName, RespValue.Null('_')), differences);
            subcommands.Remove(subcommand.FullName);
        }

        foreach (string missing in subcommands.Keys) differences.Add($"{missing} missing", "Redis 7.0 has it");
    }

    private static void CompareDocs(Command command, RespValue redis, Dictionary<string, string> differences)
    {
        RespValue own = Reply(reply => CommandDocumentation.Write(reply, command));
        foreach (string part in (string[])["since", "group", "complexity", "doc_flags", "deprecated_since", "replaced_by", "arguments"])
        {
            Note(command, part, ArgumentText(own[part]), ArgumentText(redis[part]), differences);
        }

        foreach (Command subcommand in command.Subcommands)
        {
            if (redis["subcommands"]?[subcommand.FullName] is { } documented) CompareDocs(subcommand, documented, differences);
        }
    }

    private static void Note(Command command, string part, string own, string redis, Dictionary<string, string> differences)
    {
        if (own != redis) differences.Add($"{command.FullName} {part}", $"\n    {own}\n    {redis} (Redis)");
    }

    // Notes are sentences in RedKite's own words; both must have one.
    private static string WithoutNotes(RespValue keys)
    {
        if (keys["notes"] is not { } notes) return keys.ToString();
        RespValue without = RespValue.Aggregate(keys.Marker, [.. keys.Items.Where(item => !ReferenceEquals(item, notes))]);
        return without.ToString();
    }

    // Redis has display texts since 7.2; they are the arguments' names.
    private static string ArgumentText(RespValue? value)
    {
        if (value is null) return "(none)";
        if (!value.IsAggregate) return value.ToString();
        var items = new List<RespValue>();
        for (int i = 0; i < value.Items.Count; i++)
        {
            if (value.Marker == '%' && value.Items[i].Text == "display_text") i++;
            else items.Add(value.Items[i]);
        }

        return $"{value.Marker}[{string.Join(' ', items.Select(ArgumentText))}]";
    }

    private static RespValue Reply(Action<ReplyWriter> write)
    {
        var reply = new ReplyWriter { Resp3 = true };
        write(reply);
        byte[] bytes = reply.Written.ToArray();
        int read = 0;
        return new RespReader(Receive).Read();

        int Receive(byte[] buffer, int offset)
        {
            int count = Math.Min(buffer.Length - offset, bytes.Length - read);
            bytes.AsSpan(read, count).CopyTo(buffer.AsSpan(offset));
            read += count;
            return count;
        }
    }
}
