using System.Text;
using System.Globalization;
using RedKite.Protocol;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Diagnostics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>Server commands. The table is their single declaration and this file's contents.</summary>
internal sealed class ServerCommands(ServerInfo info, RunningScript script, ServerLog log, ServerParts parts)
{
    private const int ScriptPollMs = 5;

    internal CommandFamily KeyspaceFamily => new("server", "keyspace",
    [
        new("DBSIZE", 1, CommandFlags.ReadOnly | Fast, KeySpecs.None, DbSize, new("1.0.0", "O(1)", "Returns the number of keys in the selected database.")) { Tips = ["request_policy:all_shards", "response_policy:agg_sum"] },
        new("FLUSHALL", -1, Write | AllStripes, KeySpecs.None, FlushAll, new("1.0.0", "O(N) where N is the total number of keys in all databases", "Removes all keys from all databases.", "flush-type:[ASYNC@4.0.0 | SYNC@6.2.0]") { History = [("4.0.0", "Adds `ASYNC`."), ("6.2.0", "Adds `SYNC`.")] }) { Categories = AclCategory.Dangerous, Tips = ["request_policy:all_shards", "response_policy:all_succeeded"], ExcludesScripts = static (scoped in _) => true },
        new("FLUSHDB", -1, Write | AllStripes, KeySpecs.None, FlushDb, new("1.0.0", "O(N) where N is the number of keys in the selected database", "Removes all keys from the selected database.", "flush-type:[ASYNC@4.0.0 | SYNC@6.2.0]") { History = [("4.0.0", "Adds `ASYNC`."), ("6.2.0", "Adds `SYNC`.")] }) { Categories = AclCategory.Dangerous, Tips = ["request_policy:all_shards", "response_policy:all_succeeded"] },
        new("SWAPDB", 3, Write | Fast | AllStripes, KeySpecs.None, SwapDb, new("4.0.0", "O(N) where N is the count of clients watching or blocking on keys from both databases.", "Swaps two databases.", "index1 index2")) { Categories = AclCategory.Dangerous },
    ]);

    internal CommandFamily Family => new("server", "",
    [
        new("INFO", -1, Loading | Stale | WalksStripes, KeySpecs.None, Info, new("1.0.0", "O(1)", "Returns information and statistics about the server.", "[section ...]") { History = [("7.0.0", "Accepts several sections.")] }) { Categories = AclCategory.Dangerous, Tips = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"] },
        new("LOLWUT", -1, CommandFlags.ReadOnly | Fast, KeySpecs.None, LolWut, new("5.0.0", "", "Draws a picture and shows the version.", "[VERSION version]")),
        new("SHUTDOWN", -1, Admin | NoScript | Loading | Stale | NoMulti | AllowBusy, KeySpecs.None, Shutdown, new("1.0.0", "O(N) when saving, where N is the total number of keys in all databases when saving data, otherwise O(1)", "Shuts down the server.", "save-selector:[NOSAVE | SAVE] [NOW]@7.0.0 [FORCE]@7.0.0 [ABORT]@7.0.0") { History = [("7.0.0", "Adds `NOW`, `FORCE` and `ABORT`.")] }) { ChangesRole = true },
        new("TIME", 1, Loading | Stale | Fast, KeySpecs.None, Time, new("2.6.0", "O(1)", "Returns the server's time: Unix seconds and microseconds.")) { Tips = ["nondeterministic_output"] },
    ]);

    // DBSIZE
    private static void DbSize(ref CommandContext cmd) => cmd.Reply.Integer(cmd.Database.VisibleCount);

    // FLUSHALL [ASYNC | SYNC]
    private void FlushAll(ref CommandContext cmd)
    {
        if (!IsFlushModeOrReply(cmd)) return;
        foreach (Database database in cmd.Keyspace.Databases) Flush(cmd, database);
        if (!cmd.Keyspace.IsReplacing) parts.Core.Keyless.KeysFlushed();
        parts.Durability.NoteFlushed();
        parts.SlotMoves()?.NoteFlushed();
        cmd.EffectRequest(); // as in Redis, even if there was no key
        cmd.Reply.Ok();
    }

    // FLUSHDB [ASYNC | SYNC]
    private void FlushDb(ref CommandContext cmd)
    {
        if (!IsFlushModeOrReply(cmd)) return;
        Flush(cmd, cmd.Database);
        parts.SlotMoves()?.NoteFlushed();
        cmd.EffectRequest();
        cmd.Reply.Ok();
    }

    // In both modes the tables are detached at once and freed in slices afterwards.
    private static bool IsFlushModeOrReply(scoped in CommandContext cmd)
    {
        if (cmd.Count == 1 || (cmd.Count == 2 && (cmd.Is(1, "ASYNC"u8) || cmd.Is(1, "SYNC"u8)))) return true;
        cmd.ReplySyntaxError();
        return false;
    }

    private static void Flush(scoped in CommandContext cmd, Database database)
    {
        cmd.ChangedDatabase(database, database.Count);
        cmd.Keyspace.Flush(database);
    }

    // SWAPDB index1 index2
    private static void SwapDb(ref CommandContext cmd)
    {
        if (cmd.Settings.ClusterEnabled)
        {
            cmd.Reply.Error("ERR SWAPDB is not allowed in cluster mode"u8);
            return;
        }

        if (!TryDatabaseIndex(cmd[1], out int first))
        {
            cmd.Reply.Error("ERR invalid first DB index"u8);
            return;
        }

        if (!TryDatabaseIndex(cmd[2], out int second))
        {
            cmd.Reply.Error("ERR invalid second DB index"u8);
            return;
        }

        ReadOnlySpan<Database> databases = cmd.Keyspace.Databases;
        if ((uint)first >= (uint)databases.Length || (uint)second >= (uint)databases.Length)
        {
            cmd.Reply.Error("ERR DB index is out of range"u8);
            return;
        }

        if (first == second)
        {
            cmd.Metrics.CountChanges(1); // as Redis counts it
        }
        else
        {
            databases[first].SwapWith(databases[second]);
            cmd.ChangedDatabase(databases[first]);
            cmd.ChangedDatabase(databases[second], count: 0);
        }

        cmd.Reply.Ok();
    }

    private static bool TryDatabaseIndex(ReadOnlySpan<byte> text, out int index)
    {
        bool parsed = RespNumber.TryParseInt64(text, out long value) && value is >= int.MinValue and <= int.MaxValue;
        index = parsed ? (int)value : 0;
        return parsed;
    }

    // TIME
    private static void Time(ref CommandContext cmd)
    {
        bool stands = cmd.Environment is { IsInUnit: true, IsScriptBusy: false };
        long microseconds = stands ? cmd.Time.Microseconds : cmd.Time.Clock.NowMicroseconds;
        cmd.Reply.Array(2);
        cmd.Reply.BulkInteger(microseconds / 1_000_000);
        cmd.Reply.BulkInteger(microseconds % 1_000_000);
    }

    // INFO [section [section ...]]
    private void Info(ref CommandContext cmd)
    {
        using var text = new InfoText();
        info.Write(cmd, text);
        cmd.Reply.Verbatim("txt"u8, text.Written);
    }

    // The client is blocked meanwhile, until the server's end closes its connection.
    private bool ShutDownElsewhere(scoped in CommandContext cmd, bool saves, Func<Action, bool> stop) => cmd.DoElsewhereReplying(parts.ReplyLater, reply =>
    {
        if (saves && WaitForScript() is { } busy) return Encoding.ASCII.GetBytes($"-{busy}\r\n");
        byte[] failure = "-ERR Errors trying to SHUTDOWN. Check logs.\r\n"u8.ToArray();
        return stop(() => reply(failure)) ? null : failure;
    });

    // The error if one becomes busy.
    private string? WaitForScript()
    {
        while (!parts.Core.Keyspace.Scripts.TryEnter())
        {
            if (script.BusyReply is { } busy) return busy;
            Thread.Sleep(ScriptPollMs);
        }

        parts.Core.Keyspace.Scripts.Exit();
        return null;
    }

    // SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]
    private void Shutdown(ref CommandContext cmd)
    {
        bool save = false, discard = false, now = false, force = false, abort = false;
        for (int i = 1; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "SAVE"u8)) save = true;
            else if (cmd.Is(i, "NOSAVE"u8)) discard = true;
            else if (cmd.Is(i, "NOW"u8)) now = true;
            else if (cmd.Is(i, "FORCE"u8)) force = true;
            else if (cmd.Is(i, "ABORT"u8)) abort = true;
            else
            {
                cmd.ReplySyntaxError();
                return;
            }
        }

        if ((save && discard) || (abort && (save || discard || now || force)))
        {
            cmd.ReplySyntaxError();
            return;
        }

        if (abort)
        {
            if (parts.Replicas.Shutdown.Abort()) cmd.Reply.Ok();
            else cmd.Reply.Error("ERR No shutdown in progress."u8);
            return;
        }

        if (parts.Shutdown is not { } shutdown)
        {
            cmd.Reply.Error("ERR SHUTDOWN is not allowed: the program that this server is a part of stops it (RedKiteOptions.AllowShutdown)"u8);
            return;
        }

        if (!discard && script.BusyReply is { } busy)
        {
            cmd.Reply.Error(busy);
            return;
        }

        // There is no reply: the connection is closed.
        log.Warning(LogEvents.ShutdownRequested, "User requested shutdown...");
        StopSaving saving = save ? StopSaving.Always : discard ? StopSaving.Never : StopSaving.BySavePoints;
        if (!now && parts.Replicas.Shutdown.IsNeeded && ShutDownElsewhere(cmd, saves: false, failed => parts.ShutdownAfterReplicas(saving, force, failed))) return;
        if (parts.Durability.SavesAtStop(saving) && cmd.Session.Connection is not null && ShutDownElsewhere(cmd, saves: true, Stop)) return;
        if (!Stop(failed: null))
        {
            cmd.Reply.Error("ERR Errors trying to SHUTDOWN. Check logs."u8);
            return;
        }

        cmd.Session.CloseAfterReply();

        bool Stop(Action? failed) => shutdown(saving, force ? null : failed) || (force && shutdown(StopSaving.Never, null));
    }

    // LOLWUT [VERSION version [columns [rows]]]
    private static void LolWut(ref CommandContext cmd)
    {
        long version = 0;
        bool named = cmd.Count >= 3 && cmd.Is(1, "VERSION"u8);
        if (named && !cmd.TryIntegerOrReply(2, out version)) return;
        long columns = KitePicture.ColumnsByDefault, rows = KitePicture.RowsByDefault;
        bool draws = cmd.Count == 1 || version is 5 or 6;
        if (version is 5 or 6)
        {
            if (cmd.Count > 3 && !cmd.TryIntegerOrReply(3, out columns)) return;
            if (cmd.Count > 4 && !cmd.TryIntegerOrReply(4, out rows)) return;
            if (cmd.Count > 5 && !cmd.TryIntegerOrReply(5, out _)) return;
        }

        string picture = draws ? KitePicture.Draw(columns, rows, Random.Shared) : "";
        string text = string.Create(CultureInfo.InvariantCulture, $"{picture}Redis ver. {cmd.Settings.ReportedRedisVersion}\n");
        cmd.Reply.Verbatim("txt"u8, System.Text.Encoding.UTF8.GetBytes(text));
    }
}
