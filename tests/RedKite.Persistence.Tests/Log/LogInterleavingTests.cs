using System.Text;
using RedKite.Persistence.Files;
using RedKite.Persistence.Log;

namespace RedKite.Persistence.Tests.Log;

/// <summary>
/// Interleavings of the log's two threads: each stops before and behind its calls of the file, and in each report, and a schedule says which
/// goes on. A failed sync ends by a new file alone, whatever the writer does meanwhile.
/// </summary>
public class LogInterleavingTests
{
    private const int Steps = 5;

    public static TheoryData<bool, bool> Scenarios() => new() { { false, false }, { true, false }, { false, true }, { true, true } };

    [Theory]
    [MemberData(nameof(Scenarios))]
    public void Failed_sync_is_reported_until_a_new_file_begins(bool writeFailsFirst, bool switches)
    {
        for (int schedule = 0; schedule < 1 << Steps; schedule++) Run(schedule, writeFailsFirst, switches);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Records_behind_a_cut_go_to_the_new_file_whenever_the_writer_looks(bool failedBefore)
    {
        var turns = new Turns();
        turns.End();
        var clock = new StepClock();
        var first = new TurnFile(turns) { FailsSyncs = failedBefore };
        var second = new TurnFile(turns);
        var chain = new LogChain();
        Task? switched = null;
        bool cuts = false;
        LogWriter writer = null!;
        writer = new LogWriter(chain, clock, FsyncPolicy.No) { Looking = Cut };
        using (writer)
        {
            writer.Start(first, 0);
            chain.Append(0, "before"u8);
            if (failedBefore) Assert.False(await writer.Flush());
            clock.Advance(LogWriter.RetryMs);
            Volatile.Write(ref cuts, true);
            writer.WakeSurely();
            Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref switched) is not null, 60_000));
            await switched!;
            long end = chain.Reserved;
            Assert.True(SpinWait.SpinUntil(() => writer.WrittenPosition == end, 60_000));
        }

        Assert.EndsWith("before", first.Text, StringComparison.Ordinal);
        Assert.EndsWith("behind", second.Text, StringComparison.Ordinal);

        // The cut, and a command right behind it, while the writer stands between its looks.
        void Cut()
        {
            if (!Volatile.Read(ref cuts) || switched is not null) return;
            Volatile.Write(ref switched, writer.SwitchAt(chain.ForgetDatabase(), _ => second));
            chain.Append(0, "behind"u8);
        }
    }

    private static void Run(int schedule, bool writeFailsFirst, bool switches)
    {
        string name = $"schedule {Convert.ToString(schedule, 2)}";
        var turns = new Turns();
        var clock = new StepClock();
        var first = new TurnFile(turns);
        var second = new TurnFile(turns);
        var chain = new LogChain();
        List<string> reports = [];
        var writer = new LogWriter(chain, clock, FsyncPolicy.EverySecond)
        {
            Failed = (_, isSync) => Report(isSync ? "sync" : "write"),
            Recovered = () => Report("recovered"),
            WriteTimed = (_, _) => turns.Stop(),
            SyncTimed = _ => turns.Stop(),
        };
        using (writer)
        {
            clock.Advance(5000);
            writer.Start(first, 0);
            Append("a"); // its sync is requested
            turns.WaitForStop(Turns.Syncer);
            first.FailsSyncs = true;
            first.FailsWrites = writeFailsFirst;
            Append("b");
            turns.WaitForStop(Turns.Writer);
            long cut = chain.ForgetDatabase();
            bool lacksRecords = false;
            Task switched = switches ? writer.SwitchAt(cut, Open) : Task.CompletedTask;
            for (int step = 0; step < Steps; step++)
            {
                turns.Step((schedule >> step & 1) != 0 ? Turns.Syncer : Turns.Writer);
                if (!writeFailsFirst || reports.Count == 0) continue;
                first.FailsWrites = false;
                clock.Advance(LogWriter.RetryMs);
            }

            first.FailsWrites = false;
            turns.End();
            WaitFor(() => turns.Syncs > 0 && (writer.IsAbandoned || switches), name);
            if (!switches)
            {
                long end = Append("c");
                WaitFor(() => writer.WrittenPosition == end, name); // discarded
                Assert.True(writer.IsAbandoned, name);
                Assert.NotNull(writer.Failure);
                Assert.True(reports[^1] == "sync", $"{name}: {string.Join(' ', reports)}");
                return;
            }

            WaitFor(() => switched.IsCompleted, name);
            Assert.True(writer.LacksRecords == lacksRecords, name);
            Assert.True(lacksRecords || writer.SyncedPosition >= cut, name);
            if (lacksRecords)
            {
                long behind = Append("-");
                WaitFor(() => writer.WrittenPosition == behind, name);
                Assert.True(writer.SyncedPosition < cut, name);
                Assert.NotNull(writer.Failure);
            }

            writer.BaseCommitted(cut);
            long last = Append("d");
            WaitFor(() => writer.WrittenPosition == last, name);
            Assert.Null(writer.Failure);
            Assert.False(writer.IsAbandoned, name);
            Assert.True(reports.Count == 0 || reports[^1] == "recovered", $"{name}: {string.Join(' ', reports)}");
            Assert.EndsWith("d", second.Text, StringComparison.Ordinal);

            IOpenFile Open(bool lacks)
            {
                lacksRecords = lacks;
                return second;
            }
        }

        void Report(string report)
        {
            turns.Stop();
            lock (reports) reports.Add(report);
        }

        long Append(string text)
        {
            LogAppender appender = chain.Begin(text.Length, 0, 0);
            appender.Append(Encoding.ASCII.GetBytes(text));
            long end = appender.End();
            writer.WakeSurely();
            return end;
        }

        void WaitFor(Func<bool> condition, string what) => Assert.True(
            SpinWait.SpinUntil(() =>
            {
                clock.Advance(LogWriter.RetryMs);
                writer.WakeSurely();
                Thread.Sleep(1);
                return condition();
            }, 60_000),
            $"{what}: {string.Join(' ', reports)}");
    }

    // Lets one of the two threads go on at a time.
    private sealed class Turns
    {
        internal const string Writer = "redkite-log";
        internal const string Syncer = "redkite-log-sync";

        private readonly Dictionary<string, Stopped> _threads = new() { [Writer] = new(), [Syncer] = new() };
        private bool _ended;

        internal int Syncs;

        internal void Stop()
        {
            if (Thread.CurrentThread.Name is not { } name || !_threads.TryGetValue(name, out Stopped? stopped)) return;
            lock (_threads)
            {
                if (_ended) return;
                (stopped.Thread, stopped.IsStopped) = (Thread.CurrentThread, true);
                Monitor.PulseAll(_threads);
                while (stopped.IsStopped && !_ended) Monitor.Wait(_threads);
                stopped.Passed++;
            }
        }

        // The writer may have to pass its own stops until the syncer has work.
        internal void WaitForStop(string name) => Assert.True(SpinWait.SpinUntil(
            () =>
            {
                if (_threads[name].IsStopped) return true;
                if (name == Syncer) Release(Writer);
                return false;
            }, 60_000));

        // Until the thread stops again, or waits for something else: for a lock that the other holds, or for work.
        internal void Step(string name)
        {
            Stopped stopped = _threads[name];
            if (!Release(name)) return;
            SpinWait.SpinUntil(() => stopped.IsStopped || (stopped.Thread!.ThreadState & ThreadState.WaitSleepJoin) != 0, 60_000);
        }

        internal void End()
        {
            lock (_threads)
            {
                _ended = true;
                Monitor.PulseAll(_threads);
            }
        }

        private bool Release(string name)
        {
            lock (_threads)
            {
                if (!_threads[name].IsStopped) return false;
                int passed = _threads[name].Passed;
                _threads[name].IsStopped = false;
                Monitor.PulseAll(_threads);
                while (_threads[name].Passed == passed) Monitor.Wait(_threads, 1); // until it has left its wait
                return true;
            }
        }

        private sealed class Stopped
        {
            internal Thread? Thread;
            internal volatile bool IsStopped;
            internal int Passed;
        }
    }

    private sealed class StepClock : TimeProvider
    {
        private long _ms;

        public override long TimestampFrequency => 1000;

        public override long GetTimestamp() => Volatile.Read(ref _ms);

        internal void Advance(long ms) => Interlocked.Add(ref _ms, ms);
    }

    private sealed class TurnFile(Turns turns) : IOpenFile
    {
        private readonly MemoryStream _bytes = new();

        internal volatile bool FailsWrites;
        internal volatile bool FailsSyncs;

        public string Path => "memory";

        public long Length
        {
            get
            {
                lock (_bytes) return _bytes.Length;
            }
        }

        internal string Text
        {
            get
            {
                lock (_bytes) return Encoding.ASCII.GetString(_bytes.ToArray());
            }
        }

        public int Read(long position, Span<byte> target) => throw new NotSupportedException();

        public void Write(long position, ReadOnlySpan<byte> bytes)
        {
            turns.Stop();
            if (FailsWrites) throw new FileFailure("write", Path, 28);
            lock (_bytes)
            {
                _bytes.Position = position;
                _bytes.Write(bytes);
            }

            turns.Stop();
        }

        public void SetLength(long bytes) => throw new NotSupportedException();

        public void SyncData()
        {
            turns.Stop();
            Interlocked.Increment(ref turns.Syncs);
            if (FailsSyncs) throw new FileFailure("sync", Path, 5);
        }

        public void Dispose()
        {
        }
    }
}
