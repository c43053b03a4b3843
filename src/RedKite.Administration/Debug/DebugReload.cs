using System.Text;
using RedKite.Persistence.Files;
using RedKite.Protocol;
using RedKite.Server.Diagnostics;
using RedKite.Server.Durability;
using RedKite.Server.Logging;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// DEBUG RELOAD and DEBUG LOADAOF: replace the data by what the files hold. All stripes are locked and no script runs, so other clients see the
/// data before or after it. What they load is not logged again.
/// </summary>
internal sealed class DebugReload(ServerParts parts)
{
    private const string DumpError = "ERR Error trying to load the RDB dump, check server logs.";
    private const string LogError = "ERR Error trying to load the AOF files, check server logs.";

    /// <summary>Whether a request of DEBUG is one of these.</summary>
    internal static bool IsNamed(scoped in CommandContext cmd) => cmd.Count > 1 && (cmd.Is(1, "RELOAD"u8) || cmd.Is(1, "LOADAOF"u8));

    // DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]
    internal void Reload(scoped in CommandContext cmd)
    {
        bool saves = true, flushes = true, merges = false;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "NOSAVE"u8)) saves = false;
            else if (cmd.Is(i, "NOFLUSH"u8)) flushes = false;
            else if (cmd.Is(i, "MERGE"u8)) merges = true;
            else
            {
                cmd.Reply.Error("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options."u8);
                return;
            }
        }

        if (IsInScriptAndReplied(cmd)) return;
        if (saves && parts.Durability.SaveLocked() is not null)
        {
            cmd.Reply.Error("ERR"u8);
            return;
        }

        cmd.ReplaceEffect();
        try
        {
            using var replay = new Replay(cmd.Environment.Nested, NewSession(), parts, replacesRecords: merges);
            using IOpenFile file = parts.Durability.Files.OpenRead(parts.Durability.DumpPath); // before anything is removed
            if (flushes) Flush(cmd, replay);
            parts.SlotMoves()?.NoteFlushed(); // also without: what is loaded is not sent to other nodes
            Replacing(cmd, () => parts.Durability.ReloadDump(file, replay.LoadKeyless, merges));
        }
        catch (IOException failure)
        {
            parts.Core.Log.Warning(LogEvents.LoadingFailed, failure.Message);
            cmd.Reply.Error(DumpError);
            return;
        }

        if (!saves || !flushes) parts.Durability.NoteOtherData();
        parts.Core.Log.Notice(LogEvents.DataLoaded, "DB reloaded by DEBUG RELOAD");
        End(cmd);
    }

    // DEBUG LOADAOF
    internal void LoadLog(scoped in CommandContext cmd)
    {
        if (IsInScriptAndReplied(cmd)) return;
        cmd.ReplaceEffect();
        LogKeeper log = parts.Durability.Log;
        try
        {
            log.FlushLocked();
            using Lock.Scope files = log.HoldFiles();
            if (log.LacksData) throw new IOException("The data became another than that of the append-only file, which is being rewritten: it cannot be loaded before that has ended.");
            if (!log.CurrentManifest().Files.Any()) throw new FileNotFoundException($"There is no append-only file in {log.Folder.FolderPath}");
            using var replay = new Replay(cmd.Environment.Nested, NewSession(), parts, replacesRecords: true);
            Flush(cmd, replay);
            parts.SlotMoves()?.NoteFlushed();
            CommandTable commands = cmd.Environment.Commands;
            Replacing(cmd, () => parts.Durability.ReloadLog(replay.Execute, replay.LoadKeyless, commands));
        }
        catch (IOException failure)
        {
            parts.Core.Log.Warning(LogEvents.LoadingFailed, failure.Message);
            cmd.Reply.Error(LogError);
            return;
        }

        if (cmd.Environment.IsInUnit) parts.Durability.NoteOtherData(); // what the unit has changed before is logged at its end
        parts.Core.Log.Notice(LogEvents.DataLoaded, "Append Only File loaded by DEBUG LOADAOF");
        End(cmd);
    }

    private static bool IsInScriptAndReplied(scoped in CommandContext cmd)
    {
        if (cmd.Environment.IsInScript) cmd.Reply.Error("ERR This Redis command is not allowed from script"u8);
        return cmd.Environment.IsInScript;
    }

    private static void End(scoped in CommandContext cmd)
    {
        if (!cmd.Environment.IsInUnit) cmd.Time.Read();
        cmd.Reply.Ok();
    }

    // Observers of values are not told of each key. What is loaded may be from before slots have left, also if it is not whole.
    private void Replacing(scoped in CommandContext cmd, Action load)
    {
        cmd.Recording.Values.BeginReplacing();
        try
        {
            load();
        }
        finally
        {
            cmd.Recording.Values.EndReplacing();
            parts.Core.Routing.Hidden.RemoveForeign();
        }
    }

    // As FLUSHALL, and what is no key.
    private void Flush(scoped in CommandContext cmd, Replay replay)
    {
        foreach (Database database in cmd.Keyspace.Databases)
        {
            cmd.ChangedDatabase(database, database.Count);
            database.Clear();
        }

        parts.Core.Keyless.KeysFlushed();
        parts.Core.Keyless.Clear(replay.ExecuteOne);
    }

    private Session NewSession() => parts.Core.Clients.Add(null, parts.Core.Clock.SteadyMs, parts.Core.Users.InProcess, authenticated: true);

    // Executes requests inside the command, for a client of its own.
    private sealed class Replay(INestedExecutor nested, Session session, ServerParts parts, bool replacesRecords) : IDisposable
    {
        private readonly ReplyWriter _reply = new(parts.Core.Buffers);

        internal int Execute(Span<byte> requests)
        {
            int executed = nested.Replay(session, requests, _reply);
            _reply.Clear();
            return executed;
        }

        internal string? LoadKeyless(KeylessRecord record) => ExecuteOne(record.LoadRequest(replacesRecords));

        internal string? ExecuteOne(byte[][] request)
        {
            long errors = _reply.Errors;
            nested.Replay(session, RequestText.Of(request), _reply);
            string? error = _reply.Errors == errors ? null : Encoding.UTF8.GetString(_reply.Tail).TrimEnd();
            _reply.Clear();
            return error;
        }

        public void Dispose() => _reply.Clear();
    }
}
