using System.Globalization;
using System.Text;
using RedKite.Net.Interop;
using RedKite.Protocol;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Diagnostics;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Server;

/// <summary>Memory commands. The table is their single declaration and this file's contents.</summary>
internal sealed class MemoryCommands(Func<MetricsRegistry> metrics, BufferPool buffers, Func<IReadOnlyList<Finding>> findings, RunningScript script, ReplicationStream stream)
{
    // A key's share of its table: a slot and its tag at the average fill of segments.
    private const int TableBytesPerKey = 10;

    // With less data than this, single pages decide about the ratios.
    private const long DiagnosedBytesMin = 5 << 20;
    private const double FragmentationMax = 1.4;
    private const double PeakMax = 1.5;

    private long _heapReleasedMs;

    internal CommandFamily Family => new("server", "",
    [
        new("MEMORY", -2, None, KeySpecs.None, Help, new("4.0.0", "Depends on subcommand.", "A container for commands on memory."),
        [
            new("DOCTOR", 2, None, KeySpecs.None, Doctor, new("4.0.0", "O(1)", "Returns a report on memory problems.")) { Tips = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"] },
            new("HELP", 2, Loading | Stale, KeySpecs.None, Help, new("4.0.0", "O(1)", "Lists the subcommands.")),
            new("MALLOC-STATS", 2, None, KeySpecs.None, MallocStats, new("4.0.0", "Depends on how much memory is allocated, could be slow", "Returns the memory statistics of every stripe.")) { Tips = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"] },
            new("PURGE", 2, WalksStripes, KeySpecs.None, Purge, new("4.0.0", "Depends on how much memory is allocated, could be slow", "Releases free memory to the operating system.")) { Tips = ["request_policy:all_shards", "response_policy:all_succeeded"] },
            new("STATS", 2, None, KeySpecs.None, Stats, new("4.0.0", "O(1)", "Returns details of memory usage.")) { Tips = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"] },
            new("USAGE", -3, CommandFlags.ReadOnly, KeySpecs.One(2, KeyFlags.ReadOnly), Usage, new("4.0.0", "O(N) where N is the number of samples.", "Returns the memory usage of a key and its value in bytes.", "key [SAMPLES count]")),
        ]),
    ]);

    // MEMORY USAGE key [SAMPLES count]
    private static void Usage(ref CommandContext cmd)
    {
        for (int i = 3; i < cmd.Count; i += 2)
        {
            if (!cmd.Is(i, "SAMPLES"u8) || i + 1 == cmd.Count)
            {
                cmd.ReplySyntaxError();
                return;
            }

            if (!cmd.TryIntegerOrReply(i + 1, out long samples)) return;
            if (samples < 0)
            {
                cmd.ReplySyntaxError();
                return;
            }
        }

        // The store counts the memory of each value, so nothing is sampled.
        Entry entry = cmd.Peek(2);
        if (entry.Exists) cmd.Reply.Integer(entry.MemoryBytes + TableBytesPerKey);
        else cmd.Reply.Null();
    }

    // MEMORY STATS
    private void Stats(ref CommandContext cmd)
    {
        const int FixedFields = 33;
        MemoryFigures memory = MemoryFigures.Of(metrics());
        ScriptFigures scripts = script.Figures();
        ReplyWriter reply = cmd.Reply;
        var databases = new List<Database>();
        foreach (Database database in cmd.Keyspace.Databases)
        {
            if (database.Count > 0) databases.Add(database);
        }

        reply.Map(FixedFields + databases.Count);
        Field(reply, "peak.allocated"u8, memory.Peak);
        Field(reply, "total.allocated"u8, memory.Used);
        Field(reply, "startup.allocated"u8, memory.Startup);
        Field(reply, "replication.backlog"u8, stream.BacklogMemoryBytes);
        Field(reply, "replica.fullsync.buffer"u8, 0);
        Field(reply, "clients.slaves"u8, Math.Max(0, stream.MemoryBytes - stream.BacklogMemoryBytes));
        Field(reply, "clients.normal"u8, memory.Clients);
        Field(reply, "cluster.links"u8, 0);
        Field(reply, "aof.buffer"u8, 0);
        Field(reply, "lua.caches"u8, scripts.ScriptMemoryBytes);
        Field(reply, "functions.caches"u8, scripts.LibraryMemoryBytes);
        Field(reply, "script.VMs"u8, scripts.EvalBytes + scripts.FunctionBytes);
        foreach (Database database in databases) DatabaseFields(reply, database);
        Field(reply, "overhead.db.hashtable.lut"u8, memory.Tables);
        Field(reply, "overhead.db.hashtable.rehashing"u8, 0);
        Field(reply, "overhead.total"u8, memory.Overhead);
        Field(reply, "db.dict.rehashing.count"u8, 0);
        Field(reply, "keys.count"u8, memory.Keys);
        Field(reply, "keys.bytes-per-key"u8, memory.Keys == 0 ? 0 : Math.Max(0, memory.Used - memory.Startup) / memory.Keys);
        Field(reply, "dataset.bytes"u8, memory.Dataset);
        Field(reply, "dataset.percentage"u8, memory.DatasetPercent);
        Field(reply, "peak.percentage"u8, memory.PeakPercent);
        Field(reply, "allocator.allocated"u8, memory.Allocated);
        Field(reply, "allocator.active"u8, memory.Active);
        Field(reply, "allocator.resident"u8, memory.AllocatorResident);
        Field(reply, "allocator.muzzy"u8, 0);
        Field(reply, "allocator-fragmentation.ratio"u8, memory.AllocatorFragmentationRatio);
        Field(reply, "allocator-fragmentation.bytes"u8, memory.Active - memory.Allocated);
        Field(reply, "allocator-rss.ratio"u8, memory.AllocatorResidentRatio);
        Field(reply, "allocator-rss.bytes"u8, memory.AllocatorResident - memory.Active);
        Field(reply, "rss-overhead.ratio"u8, memory.ResidentOverheadRatio);
        Field(reply, "rss-overhead.bytes"u8, memory.Resident - memory.AllocatorResident);
        Field(reply, "fragmentation"u8, memory.FragmentationRatio);
        Field(reply, "fragmentation.bytes"u8, memory.Resident - memory.Used);
    }

    private static void DatabaseFields(ReplyWriter reply, Database database)
    {
        reply.Bulk(string.Create(CultureInfo.InvariantCulture, $"db.{database.Index}"));
        reply.Map(2);
        Field(reply, "overhead.hashtable.main"u8, database.TableBytes);
        Field(reply, "overhead.hashtable.expires"u8, 0); // an expiry is part of its key's entry
    }

    private static void Field(ReplyWriter reply, ReadOnlySpan<byte> name, long value)
    {
        reply.Bulk(name);
        reply.Integer(value);
    }

    private static void Field(ReplyWriter reply, ReadOnlySpan<byte> name, double value)
    {
        reply.Bulk(name);
        reply.Double(value);
    }

    // MEMORY DOCTOR
    private void Doctor(ref CommandContext cmd)
    {
        MemoryFigures memory = MemoryFigures.Of(metrics());
        string found = FindingsText.Of(findings(), "memory");
        cmd.Reply.Verbatim("txt"u8, Encoding.UTF8.GetBytes(Diagnose(memory, found.Length > 0) + found));
    }

    private const string OnlyFindings = "Hi Sam, there are findings about the memory of this server.\n";

    // The first words are Redis's, because clients check them.
    private static string Diagnose(in MemoryFigures memory, bool hasFindings)
    {
        if (memory.Used - memory.Startup < DiagnosedBytesMin) return hasFindings ? OnlyFindings : "Hi Sam, this server holds too little data for a diagnosis. Ask again when there is more.\n";
        var text = new StringBuilder();
        if (memory.Peak - memory.Startup > (memory.Used - memory.Startup) * PeakMax)
        {
            text.Append(CultureInfo.InvariantCulture, $" * Peak: the server once used {memory.Peak} bytes and now uses {memory.Used}. The process may still hold memory from then; MEMORY PURGE returns free memory to the system.\n");
        }

        if (memory.AllocatorFragmentationRatio > FragmentationMax)
        {
            text.Append(CultureInfo.InvariantCulture, $" * Fragmentation: the store holds {memory.AllocatorFragmentationRatio:F2} times the bytes of its data. This happens when values of very different sizes come and go. New data reuses the free space; CONFIG SET activedefrag yes moves the data together and returns it.\n");
        }

        if (memory.Clients > (memory.Used - memory.Startup) / 2)
        {
            text.Append(CultureInfo.InvariantCulture, $" * Clients: connections and their buffers take {memory.Clients} bytes, more than the data. CLIENT LIST shows which clients read too slowly (omem) or send very large requests (qbuf).\n");
        }

        if (text.Length == 0 && hasFindings) return OnlyFindings;
        return text.Length == 0 ? "Hi Sam, the memory of this server shows no issue.\n" : "Sam, the memory of this server shows these issues:\n\n" + text;
    }

    // MEMORY MALLOC-STATS
    private static void MallocStats(ref CommandContext cmd)
    {
        Keyspace keyspace = cmd.Keyspace;
        var text = new StringBuilder("stripe      used      held    tables     large     waits\n");
        for (int i = 0; i < keyspace.Stripes.Length; i++)
        {
            Stripe stripe = keyspace.Stripes[i];
            text.Append(CultureInfo.InvariantCulture, $"{i,6}{stripe.UsedBytes,10}{stripe.Arena.HeldBytes,10}{stripe.Segments.UsedBytes,10}{stripe.Arena.LargeBytes,10}{stripe.LockWaits,10}\n");
        }

        text.Append(CultureInfo.InvariantCulture, $"all: used {keyspace.UsedBytes}, tables {keyspace.TableBytes}, held from the system {keyspace.HeldBytes}\n");
        text.Append(CultureInfo.InvariantCulture, $"managed heap: used {GC.GetTotalMemory(forceFullCollection: false)}, committed {GC.GetGCMemoryInfo().TotalCommittedBytes}\n");
        cmd.Reply.Verbatim("txt"u8, Encoding.ASCII.GetBytes(text.ToString()));
    }

    // MEMORY PURGE
    private void Purge(ref CommandContext cmd)
    {
        Keyspace keyspace = cmd.Keyspace;
        for (int stripe = 0; stripe < keyspace.Stripes.Length; stripe++)
        {
            if (!cmd.Environment.TryEnterStripe(stripe)) return;
            keyspace.Stripes[stripe].ReleaseUnused();
            cmd.Environment.ExitStripe(stripe);
        }

        if (metrics().Server.OwnsProcess && ManagedHeap.IsDue(ref _heapReleasedMs, cmd.NowMs)) ManagedHeap.Release(); // first: its finalizers free native memory
        keyspace.ReleaseFreeMemory();
        buffers.ReleaseKept();
        cmd.Reply.Ok();
    }

    // MEMORY HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "DOCTOR",
        "    Return a report on memory problems.",
        "MALLOC-STATS",
        "    Return the memory statistics of every stripe.",
        "PURGE",
        "    Release free memory to the operating system.",
        "STATS",
        "    Return details of memory usage.",
        "USAGE <key> [SAMPLES <count>]",
        "    Return the memory usage of <key> and its value in bytes. It is counted, not",
        "    sampled, so <count> has no effect.");
}
