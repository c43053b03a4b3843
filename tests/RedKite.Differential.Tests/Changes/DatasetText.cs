using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Changes;

/// <summary>A server's data as text, one line for each key: with expiry times and groups of streams, which DEBUG DIGEST leaves out.</summary>
internal static class DatasetText
{
    // When a consumer was last seen or active is not replayed by Redis either.
    private static readonly string[] ConsumerTimes = ["seen-time", "active-time"];

    /// <param name="run">Runs a command on one connection of the server.</param>
    public static string[] Of(Func<byte[][], RespValue> run)
    {
        List<string> lines = [];
        for (int database = 0; database < ServerPair.Databases; database++)
        {
            run(CommandLine.Split($"SELECT {database}"));
            foreach (RespValue key in run(CommandLine.Split("KEYS *")).Items)
            {
                // The digest first: it is taken of a value as it is, and a look at the type removes an expired key.
                RespValue digest = run([.. CommandLine.Split("DEBUG DIGEST-VALUE"), key.Payload!]);
                string type = run(["TYPE"u8.ToArray(), key.Payload!]).Text;
                RespValue expiry = run(["PEXPIRETIME"u8.ToArray(), key.Payload!]);
                string more = type switch
                {
                    "hash" => Expiries(run, "HKEYS", "HPEXPIRETIME", "FIELDS", key.Payload!),
                    "set" => Expiries(run, "SMEMBERS", "SPEXPIRETIME", "MEMBERS", key.Payload!),
                    "stream" => Text(run([.. CommandLine.Split("XINFO STREAM"), key.Payload!, .. CommandLine.Split("FULL COUNT 0")])),
                    _ => "",
                };
                lines.Add($"{database} {CommandLine.Format(key.Payload!)} {type} {digest} expires {expiry} {more}");
            }
        }

        run(CommandLine.Split("SELECT 0"));
        lines.Sort(StringComparer.Ordinal);
        return [.. lines];
    }

    // Of a hash's fields or a set's members.
    private static string Expiries(Func<byte[][], RespValue> run, string list, string times, string word, byte[] key)
    {
        byte[][] items = [.. run([.. CommandLine.Split(list), key]).Items.Select(item => item.Payload!).OrderBy(item => CommandLine.Format(item), StringComparer.Ordinal)];
        if (items.Length == 0) return "";
        return run([.. CommandLine.Split(times), key, .. CommandLine.Split($"{word} {items.Length}"), .. items]).ToString();
    }

    private static string Text(RespValue value)
    {
        if (!value.IsAggregate) return value.ToString();
        List<string> items = [];
        for (int i = 0; i < value.Items.Count; i++)
        {
            items.Add(Text(value.Items[i]));
            if (ConsumerTimes.Contains(value.Items[i].Text)) i++;
        }

        return $"[{string.Join(' ', items)}]";
    }
}
