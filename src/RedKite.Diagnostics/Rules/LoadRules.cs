using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on the server's own work: loops, locks, commands, the runtime.</summary>
internal static class LoadRules
{
    private const int PercentileCommandsMin = 1000;
    private const int SlowSecondsMin = 10;
    private const double LongCallMsMin = 30; // of a second: 3 %
    private const int KeysCallsMin = 5;
    private const int LateSamplesASecond = 100;
    private const double WideSearchBytes = 64 << 20;
    private const double WideSearchBytesASecond = 1 << 30;

    internal static FindingRule[] All =>
    [
        new("loop-saturated", "The busiest event loop worked for more than 95 % of the last 10 seconds. Its clients wait for each other.",
            "Pipeline requests, spread the load over more connections, or raise `loops` where there are free CPUs.", "loops",
            view => view.Min(BusiestLoop, 10) > 95 ? new("An event loop is saturated", Text($"busy {view.Mean(BusiestLoop, 10):0} % of the last 10 seconds"), Warning) : null)
        { Culprit = culprits => culprits.BusiestCommands() },
        new("loops-uneven", "One event loop worked for more than 80 %, another for less than 10 % of the last minute. Clients are spread over loops when they connect.",
            "Have the busiest clients use several connections.", "loops",
            view => view.Mean(BusiestLoop, 60) > 80 && view.Mean(LeastBusyLoop, 60) < 10 ? new("Work is spread unevenly over the event loops", Text($"{view.Mean(BusiestLoop, 60):0} % against {view.Mean(LeastBusyLoop, 60):0} %"), Notice) : null)
        { Culprit = culprits => culprits.BusiestCommands() },
        new("stripe-hot", "One stripe of the keyspace was locked during more than half of the last 30 seconds. Commands on its keys wait.",
            "BUSYKEYS names the key, and the slow log has long commands. Split the key, or avoid long commands on it.", "loops",
            view => view.Mean(HottestStripe, 30) > 50 && view.Mean(LockWaited, 30) > 20 ? new("One part of the keyspace is contended", Text($"locked {view.Mean(HottestStripe, 30):0} % of the time, threads waited {view.Mean(LockWaited, 30):0} ms a second"), Warning) : null)
        { Culprit = culprits => culprits.HottestKey() },
        new("lock-waits", "Threads waited for locks of the keyspace for more than 200 ms a second over the last 30 seconds.",
            "BUSYKEYS names the keys that all clients use, and the slow log has long commands. Split the keys, or avoid long commands on them.", "loops",
            view => view.Mean(LockWaited, 30) > 200 ? new("Commands wait for each other", Text($"{view.Mean(LockWaited, 30):0} ms a second, {Times(view.Mean(LockWaits, 30), "time")}"), Warning) : null)
        { Culprit = culprits => culprits.LongCalls(30) },
        new("stripe-uneven", "One stripe holds more than eight times its even share of the data, and more than 256 MiB: a very large key.",
            "BIGKEYS names the key. Split it, or read and delete it in parts.", "keys",
            view => view[LargestStripe] > 8 && view[Dataset] > 256 << 20 ? new("A single key holds much of the data", Text($"its stripe has {view[LargestStripe]:0.#} times its share of {Bytes(view[Dataset])}"), Notice) : null)
        { Culprit = culprits => culprits.LargestKey() },
        new("slow-commands", "One in a hundred commands took longer than 10 ms in at least 10 of the last 30 seconds, which had at least 1,000 commands.",
            "The slow log has the slow commands. Commands on whole collections or the whole keyspace delay others.", "slow",
            view => SlowSeconds(view, LatencyP99) is >= SlowSecondsMin and var seconds ? new("Commands are slow", Text($"the 99th percentile was above 10 ms in {seconds} of the last 30 seconds, {view.Max(LatencyP99, 30) / 1000:0.#} ms at most"), Warning) : null)
        { Culprit = culprits => culprits.LongCalls(30) },
        new("long-commands", "Commands that took longer than 10 ms each took more than 3 % of an event loop's time together, in at least 10 of the last 30 seconds and one of the last 10. Whatever shares their loop or their keys waits meanwhile.",
            "Read large values in parts (HSCAN, SSCAN, ranges), keys by SCAN instead of KEYS, and split scripts.", "slow",
            view => view.SecondsOver(LongCallTime, 30, LongCallMsMin) is >= SlowSecondsMin and var seconds && SlowSeconds(view, LatencyP99) < SlowSecondsMin && view.SecondsOver(LongCallTime, 10, LongCallMsMin) > 0
                ? new("Long commands take much of an event loop's time", Text($"in {seconds} of the last 30 seconds, {view.Rate(LongCallTime, 30):0} ms a second"), Warning) : null)
        { Culprit = culprits => culprits.LongCalls(30) },
        new("commands-wait", "One in a hundred commands waited longer than 10 ms for its turn on the event loop, or for keys that another command had locked, in at least 10 of the last 30 seconds, which had at least 1,000 commands.",
            "The slow log has the slow commands of other clients, which share the loop or the keys. Avoid those; more `loops` help where the loop is what they share.", "commands",
            view => SlowSeconds(view, WaitingP99) is >= SlowSecondsMin and var seconds ? new("Commands wait for their turn", Text($"the 99th percentile of the waits was above 10 ms in {seconds} of the last 30 seconds, {view.Max(WaitingP99, 30) / 1000:0.#} ms at most"), Warning) : null)
        { Culprit = culprits => culprits.LongCalls(30) },
        new("hot-key", "A single key was used by more than a quarter of more than 50,000 requests a second, throughout the last 10 seconds. Its stripe admits one thread at a time.",
            "BUSYKEYS names the key. Cache it in the client, or split it into several keys.", "keys",
            view => view.Min(HottestKey, 10) > 25 && view.Mean(CommandsProcessed, 10) > 50_000 ? new("One key gets much of the load", Text($"{view.Mean(HottestKey, 10):0} % of {view.Mean(CommandsProcessed, 10):0} requests a second use it, over the last 10 seconds"), Notice) : null)
        { Culprit = culprits => culprits.HottestKey() },
        new("command-stall", "A command took longer than a second within the last minute. Every client of its loop waited.",
            "The slow log has the command. Split its work: a walk over keys or elements into steps (SCAN and its variants, ranges), a script or function into several calls.", "slow",
            view => view.Max(LatencyMax, 60) > 1_000_000 ? new("A command stopped a loop for seconds", Text($"one command took {view.Max(LatencyMax, 60) / 1e6:0.#} s"), Critical) : null)
        { Culprit = culprits => culprits.LongestCall(60) },
        new("large-transaction", "A transaction of more than 10,000 commands was executed within the last minute. Its keys are locked until it ends, and so is its event loop.",
            "Split the transaction: transactions of a few hundred commands are hardly slower.", "commands",
            view => view.Max(LargestTransaction, 60) > 10_000 ? new("A transaction is very large", Text($"the largest has {Times(view.Max(LargestTransaction, 60), "command")}"), Warning) : null),
        new("long-script", "A script or function ran for more than 100 ms within the last minute. No other script runs meanwhile, its keys are locked, and so is its event loop.",
            "The slow log has the script. Split its work: a script should take microseconds.", "commands",
            view => view.Max(LongestScript, 60) > 100_000 ? new("A script runs long", Text($"the longest ran for {view.Max(LongestScript, 60) / 1000:0} ms"), Warning) : null)
        { Culprit = culprits => culprits.LongScript() },
        new("vector-searches-wide", "Searches of vector sets read more than 64 MiB each over the last minute, and more than 1 GiB a second: much of their sets.",
            "Lower EF, COUNT or FILTER-EF, or replace TRUTH; store attributes that a filter rarely matches in sets of their own; Q8 or BIN vectors take a quarter of the memory or less.", "commands",
            view => view.Mean(VectorBytesRead, 60) is > WideSearchBytesASecond and var read && read > WideSearchBytes * view.Mean(VectorSearches, 60)
                ? new("Searches of vector sets read much", Text($"{Bytes(read / Math.Max(view.Mean(VectorSearches, 60), 1.0 / 60))} each, {Bytes(read)} a second"), Warning) : null)
        { Culprit = culprits => culprits.LongCalls(60) },
        new("filter-full", "A Bloom or cuckoo filter refused elements within the last minute: it has as many as it was created for, and does not grow, or has as many layers as it may have.",
            "BF.INFO and CF.INFO show capacity and number of filters. Create a filter with a larger capacity and add its elements again, or let it grow: EXPANSION, without NONSCALING; for cuckoo filters `cf-max-expansions`.", "commands",
            view => view.Growth(FilterAdditionsRefused, 60) is > 0 and var refused ? new("A filter is past its capacity", Text($"{Times(refused, "element")} refused in the last minute"), Warning) : null),
        new("series-out-of-order", "More than a tenth of the samples that time series got within the last minute, and more than 100 a second, were not newer than all others there. Each has a chunk rewritten, which takes many times as long as appending.",
            "Have one sender for each series, which sends in the order of time, or sorts what it has before it sends; change the newest sample less often. A smaller CHUNK_SIZE makes such samples cheaper. The slow log and BUSYKEYS help to find the series.", "commands",
            view => view.Mean(SeriesSamplesLate, 60) is > LateSamplesASecond and var late && late > view.Mean(SeriesSamples, 60) / 10
                ? new("Samples of time series come out of order", Text($"{Times(late, "sample")} a second, of {view.Mean(SeriesSamples, 60):0}"), Notice) : null)
        { Culprit = culprits => culprits.HottestKey() },
        new("transactions-refused", "More than half of the transactions of the last minute were refused, and more than ten a second: clients compete for the keys that they watch.",
            "Use a script or a single command instead of WATCH, or let the clients work on different keys.", "commands",
            view => view.Mean(TransactionsRefused, 60) > 10 && view.Mean(TransactionsRefused, 60) > view.Mean(Transactions, 60) ? new("Most transactions are refused", Text($"{view.Mean(TransactionsRefused, 60):0} a second, {view.Mean(Transactions, 60):0} executed"), Notice) : null),
        new("keys-command", "KEYS walks over the whole database. It was called at least five times within the last minute, with more than 10,000 keys.",
            "Use SCAN, or a set that lists the keys.", "commands",
            view => view.Growth(KeysCalls, 60) is var calls && Math.Round(calls) >= KeysCallsMin && view[Keys] > 10_000 ? new("KEYS is used on a large database", Text($"{Times(calls, "call")} in the last minute over {view[Keys]:0} keys"), Warning) : null)
        { Culprit = culprits => culprits.CallersOf("keys") },
        new("error-rate", "More than a tenth of the commands of the last 10 seconds failed, and more than ten a second.",
            "INFO errorstats has the errors by class.", "commands",
            view => view.Mean(ErrorReplies, 10) > 10 && view.Mean(ErrorReplies, 10) > view.Mean(CommandsProcessed, 10) / 10 ? new("Many commands fail", Text($"{Times(view.Mean(ErrorReplies, 10), "error")} a second for {Times(view.Mean(CommandsProcessed, 10), "command")} over the last 10 seconds"), Warning) : null)
        { Culprit = culprits => culprits.Errors() },
        new("low-hit-ratio", "Of more than 1,000 lookups a second, fewer than a fifth found their key over the last ten minutes. As a cache, the server saves little.",
            "Check whether keys expire too soon, or clients use wrong names.", "keys", LowHitRatio),
        new("expiry-behind", "More than a quarter of the keys with an expiry have expired and still take memory.",
            "Raise active-expire-effort or hz.", "keys",
            view => view.Min(ExpiredStale, 30) > 25 ? new("Expired keys are removed too slowly", Text($"about {view.Mean(ExpiredStale, 30):0} % of the keys with an expiry have expired"), Notice) : null),
        new("gc-pauses", "Garbage collections stopped all threads for more than 50 ms a second over the last 30 seconds.",
            "In a host application, its allocations are the likely cause. Otherwise take a debug package and report a bug.", "memory",
            view => view.Mean(PauseTime, 30) > 50 ? new("Garbage collections stop the server", Text($"{view.Mean(PauseTime, 30):0} ms a second, {Times(view.Mean(Collections2, 30), "full collection", "0.##")} a second"), Warning) : null),
        new("gc-full", "There was more than one full garbage collection a second over the last 30 seconds.",
            "In a host application, its allocations are the likely cause; look for large arrays and pinned buffers.", "memory",
            view => view.Mean(Collections2, 30) > 1 ? new("Full garbage collections are frequent", Text($"{view.Mean(Collections2, 30):0.#} a second"), Notice) : null),
        new("threadpool-starved", "More than 100 work items waited for the thread pool throughout the last 10 seconds.",
            "Code in the process blocks the pool's threads; the debug package has their stacks.", "loops",
            view => view.Min(ThreadPoolQueue, 10) > 100 ? new("The thread pool is starved", Text($"{Times(view[ThreadPoolQueue], "work item")} in the queue, {Times(view[ThreadPoolThreads], "thread")}"), Warning) : null),
    ];

    // A 99th percentile of fewer commands is the time of a handful of them, and a single slow second says little of thirty.
    private static int SlowSeconds(DiagnosticsView view, Metric percentile) =>
        view.Growth(CommandsProcessed, 30) >= PercentileCommandsMin ? view.SecondsOver(percentile, 30, 10_000) : 0;

    private static Diagnosis? LowHitRatio(DiagnosticsView view)
    {
        double hits = view.Mean(KeyspaceHits, 600);
        double lookups = hits + view.Mean(KeyspaceMisses, 600);
        double now = view.Mean(KeyspaceHits, 60) + view.Mean(KeyspaceMisses, 60); // not the rest of a load that has ended
        return lookups > 1000 && now > 1000 && hits < lookups / 5 ? new("Most lookups find nothing", Text($"{hits / lookups * 100:0} % of {lookups:0} lookups a second hit"), Notice) : null;
    }
}
