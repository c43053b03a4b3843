using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>RedKite's own commands on the keys that are used most and on the largest keys.</summary>
internal sealed class KeyStatisticsCommands(ServerParts parts)
{
    private const int ShownByDefault = 10;
    private const int ShownMax = 1000;

    internal CommandFamily Family => new("server", "",
    [
        new("BUSYKEYS", -1, Admin | Loading | Stale, KeySpecs.None, BusyKeys, new("8.0.0", "O(N log(N)) where N is the number of keys that are counted, some thousands.", "Returns the keys that were used most in the last ten to twenty seconds, from a sample of the requests, and how many seconds the rates are of.", "[COUNT count]")) { Tips = ["nondeterministic_output"] },
        new("BIGKEYS", -1, Admin | Loading | Stale, KeySpecs.None, BigKeys, new("8.0.0", "O(N) where N is the number of keys returned.", "Returns the keys that took the most memory when the background survey last saw them.", "[COUNT count] [TYPE type]")) { Tips = ["nondeterministic_output"] },
    ]);

    // BUSYKEYS [COUNT count]
    private void BusyKeys(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, acceptsType: false, out int count, out _)) return;
        List<HotKey> keys = HotKeySketch.Hottest(parts.Core.Metrics.Executors, count, cmd.NowMs);
        cmd.Reply.Array(keys.Count);
        foreach (HotKey key in keys)
        {
            BeginKey(cmd, key.Key, key.Database, moreFields: 2);
            cmd.Reply.Bulk("uses-per-second"u8);
            cmd.Reply.Double(Math.Round(key.UsesPerSecond, 1));
            cmd.Reply.Bulk("seconds"u8);
            cmd.Reply.Double(Math.Round(key.Seconds, 1));
        }
    }

    // BIGKEYS [COUNT count] [TYPE type]
    private void BigKeys(ref CommandContext cmd)
    {
        if (!TryOptionsOrReply(cmd, acceptsType: true, out int count, out DataType? type)) return;
        if (parts.KeySurvey() is not { } survey)
        {
            cmd.Reply.Error(cmd.Settings.KeySurveyCpuPercent == 0 || !cmd.Settings.Diagnostics
                ? "ERR there is no survey of keys: key-survey-cpu-percent is 0 or diagnostics are off"u8
                : "ERR the first survey of keys has not ended yet"u8);
            return;
        }

        SurveyedKey[] keys = [.. survey.Largest(int.MaxValue).Where(key => type is null || key.Type == type).Take(count)];
        cmd.Reply.Array(keys.Length);
        foreach (SurveyedKey key in keys)
        {
            BeginKey(cmd, key.Key, key.Database, moreFields: 3);
            cmd.Reply.Bulk("type"u8);
            cmd.Reply.Bulk(StoredTypes.Of(key.Type).Name);
            cmd.Reply.Bulk("size"u8);
            cmd.Reply.Integer(key.Size);
            cmd.Reply.Bulk("bytes"u8);
            cmd.Reply.Integer(key.Bytes);
        }
    }

    // The beginning of each reply about a key.
    private static void BeginKey(scoped in CommandContext cmd, ReadOnlySpan<byte> key, int database, int moreFields)
    {
        cmd.Reply.Map(2 + moreFields);
        cmd.Reply.Bulk("key"u8);
        cmd.Reply.Bulk(key);
        cmd.Reply.Bulk("database"u8);
        cmd.Reply.Integer(database);
    }

    private static bool TryOptionsOrReply(scoped in CommandContext cmd, bool acceptsType, out int count, out DataType? type)
    {
        count = ShownByDefault;
        type = null;
        for (int i = 1; i < cmd.Count; i += 2)
        {
            if (i + 1 < cmd.Count && cmd.Is(i, "COUNT"u8))
            {
                if (!cmd.TryIntegerOrReply(i + 1, out long wanted)) return false;
                if (wanted is < 1 or > ShownMax)
                {
                    cmd.Reply.Error($"ERR COUNT must be between 1 and {ShownMax}");
                    return false;
                }

                count = (int)wanted;
            }
            else if (acceptsType && i + 1 < cmd.Count && cmd.Is(i, "TYPE"u8))
            {
                type = TypeOf(cmd, i + 1);
                if (type is null)
                {
                    cmd.Reply.Error("ERR unknown type name"u8);
                    return false;
                }
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }

    private static DataType? TypeOf(scoped in CommandContext cmd, int argument)
    {
        foreach (StoredType type in StoredTypes.All)
        {
            if (cmd.Is(argument, type.Name)) return type.Number;
        }

        return null;
    }
}
