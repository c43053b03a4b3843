using System.Text;
using RedKite.Persistence.Files;
using RedKite.Persistence.Log;

namespace RedKite.Persistence.Tests.Log;

public class LogWriterTests
{
    private const int PatienceMs = 60_000;

    [Fact]
    public void Always_syncs_each_record_before_it_is_reported()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        long first = log.Append("one");
        log.WaitForSynced(first);
        Assert.Equal(RunningLog.Select + "one", log.Files[0].SyncedText);
        long second = log.Append("two");
        log.WaitForSynced(second);
        Assert.Equal(RunningLog.Select + "onetwo", log.Files[0].SyncedText);
        Assert.True(log.Writer.Syncs.Count >= 2);
    }

    [Fact]
    public async Task No_never_syncs_but_a_flush_does()
    {
        using var log = new RunningLog(FsyncPolicy.No);
        long end = log.Append("one");
        log.WaitFor(() => log.Writer.WrittenPosition == end, "the write");
        Assert.Equal(0, log.Writer.SyncedPosition);
        Assert.Equal(0, log.Writer.Syncs.Count);
        Assert.True(await log.Writer.Flush());
        Assert.Equal(end, log.Writer.SyncedPosition);
        Assert.Equal(RunningLog.Select + "one", log.Files[0].SyncedText);
    }

    [Fact]
    public async Task A_flush_that_is_asked_for_during_a_write_covers_what_came_before_it()
    {
        using var log = new RunningLog(FsyncPolicy.No);
        Task<bool>? flush = null;
        log.Files[0].Wrote = () =>
        {
            log.Files[0].Wrote = null;
            log.Append("two");
            flush = log.Writer.Flush();
        };
        log.Append("one");
        log.WaitFor(() => Volatile.Read(ref flush) is not null, "the write");
        Assert.True(await flush!);
        Assert.Equal(RunningLog.Select + "onetwo", log.Files[0].SyncedText);
    }

    [Fact]
    public void Every_second_syncs_once_in_each_second_of_the_clock()
    {
        using var log = new RunningLog(FsyncPolicy.EverySecond);
        log.Clock.Advance(5000);
        log.WaitForSynced(log.Append("a"));
        long end = log.Append("b");
        log.WaitFor(() => log.Writer.WrittenPosition == end, "the write");
        Assert.Equal(1, log.Writer.Syncs.Count);
        log.Clock.Advance(1000);
        log.WaitForSynced(end);
        Assert.Equal(2, log.Writer.Syncs.Count);
        Assert.Equal(RunningLog.Select + "ab", log.Files[0].SyncedText);
    }

    [Theory]
    [InlineData(FsyncPolicy.Always)]
    [InlineData(FsyncPolicy.EverySecond)]
    internal void Suspended_syncs_are_made_up_for_afterwards(FsyncPolicy policy)
    {
        using var log = new RunningLog(policy) { SuspendsSyncs = true };
        log.Clock.Advance(5000);
        long end = log.Append("a");
        log.WaitFor(() => log.Reported == end, "the report that nothing waits for");
        Assert.Equal(end, log.Writer.WrittenPosition);
        Assert.Equal(0, log.Writer.Syncs.Count);
        Assert.Equal(0, log.Writer.SyncedPosition);
        log.SuspendsSyncs = false;
        log.WaitForSynced(end);
        Assert.Equal(RunningLog.Select + "a", log.Files[0].SyncedText);
    }

    [Fact]
    public void Failed_write_is_repeated_until_it_succeeds_and_nothing_is_lost()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        log.WaitForSynced(log.Append("kept"));
        log.Files[0].FailsWrites = true;
        long end = log.Append("late");
        log.WaitFor(() => log.Failures == 1, "the failure");
        Assert.False(log.Writer.IsAbandoned);
        Assert.True(log.Writer.Failure!.IsFull);
        log.Clock.Advance(LogWriter.RetryMs);
        log.WaitFor(() => log.Files[0].FailedWrites >= 2, "the second attempt");
        Assert.Equal(1, log.Failures);
        log.Files[0].FailsWrites = false;
        log.WaitThroughRetries(() => log.Writer.SyncedPosition >= end, "the sync");
        Assert.Equal(1, log.Recoveries);
        Assert.Null(log.Writer.Failure);
        Assert.Equal(RunningLog.Select + "keptlate", log.Files[0].SyncedText);
    }

    [Fact]
    public async Task After_a_failed_sync_the_file_is_abandoned_until_another_goes_on()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        log.WaitForSynced(log.Append("kept"));
        log.Files[0].FailsSyncs = true;
        log.Append("lost");
        log.WaitFor(() => log.Failures == 1, "the failure");
        Assert.True(log.Writer.IsAbandoned);
        log.Files[0].FailsSyncs = false; // a later sync would succeed without the lost bytes
        long unwritten = log.Append("unwritten");
        log.WaitThroughRetries(() => log.Writer.WrittenPosition == unwritten, "the discarded records");
        Assert.True(log.Writer.SyncedPosition < unwritten);
        Assert.False(await log.Writer.Flush());

        long cut = log.Chain.ForgetDatabase();
        bool lacksRecords = false;
        await log.Writer.SwitchAt(cut, lacks =>
        {
            lacksRecords = lacks;
            return log.NewFile();
        });
        Assert.True(lacksRecords);
        Assert.True(log.Writer.LacksRecords);
        Assert.False(await log.Writer.Flush()); // the new file is worth nothing before its base is committed
        Assert.True(log.Writer.SyncedPosition < cut);
        Assert.Equal(0, log.Recoveries);
        log.Writer.BaseCommitted(cut);
        Assert.Equal(cut, log.Writer.SyncedPosition);
        Assert.Equal(1, log.Recoveries);
        log.Clock.Advance(LogWriter.RetryMs);
        log.WaitForSynced(log.Append("again"));
        Assert.Equal(RunningLog.Select + "again", log.Files[1].SyncedText);
        Assert.DoesNotContain("unwritten", log.Files[0].Text);
    }

    [Fact]
    public async Task Switch_splits_the_log_at_its_position()
    {
        using var log = new RunningLog(FsyncPolicy.EverySecond);
        for (int i = 0; i < 500; i++) log.Append($"<{i}>");
        long cut = log.Chain.ForgetDatabase();
        for (int i = 500; i < 1000; i++) log.Append($"<{i}>");
        await log.Writer.SwitchAt(cut, _ => log.NewFile());
        long end = log.Append("end");
        log.WaitFor(() => log.Writer.WrittenPosition == end, "the writes");
        Assert.Equal(RunningLog.Select + string.Concat(Enumerable.Range(0, 500).Select(i => $"<{i}>")), log.Files[0].SyncedText);
        Assert.Equal(RunningLog.Select + string.Concat(Enumerable.Range(500, 500).Select(i => $"<{i}>")) + "end", log.Files[1].Text);
    }

    [Fact]
    public async Task Switch_that_cannot_open_its_file_leaves_the_current_one_in_use()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        Task failed = log.Writer.SwitchAt(log.Chain.ForgetDatabase(), _ => throw new FileFailure("create", "next", 28));
        await Assert.ThrowsAsync<FileFailure>(() => failed);
        log.WaitForSynced(log.Append("one"));
        Assert.Equal(RunningLog.Select + "one", log.Files[0].SyncedText);
        Assert.Equal(0, log.Failures);
    }

    [Fact]
    public async Task Canceled_switch_leaves_the_current_file_in_use_and_another_may_follow()
    {
        using var log = new RunningLog(FsyncPolicy.No);
        log.Files[0].FailsWrites = true;
        log.Append("one");
        log.WaitFor(() => log.Failures == 1, "the failure");
        Task canceled = log.Writer.SwitchAt(log.Chain.ForgetDatabase(), _ => log.NewFile());
        log.Writer.CancelSwitch();
        await Assert.ThrowsAsync<FileFailure>(() => canceled);
        long cut = log.Chain.ForgetDatabase();
        Task switched = log.Writer.SwitchAt(cut, _ => log.NewFile());
        log.Files[0].FailsWrites = false;
        log.WaitThroughRetries(() => switched.IsCompleted, "the switch");
        await switched;
        Assert.Equal(RunningLog.Select + "one", log.Files[0].SyncedText);
        Assert.Equal(2, log.Files.Count);
    }

    [Fact]
    public async Task Switch_happens_although_a_full_disk_takes_no_write_when_its_base_is_written()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        log.WaitForSynced(log.Append("kept"));
        log.Files[0].FailsWrites = true;
        log.Append("unwritten");
        log.WaitFor(() => log.Failures == 1, "the failure");
        long cut = log.Chain.ForgetDatabase();
        Task switched = log.Writer.SwitchAt(cut, _ => log.NewFile());
        long behind = log.Append("behind");
        log.Writer.CompleteSwitch();
        await switched;
        Assert.True(log.Writer.LacksRecords);
        Assert.True(log.Writer.SyncedPosition < cut);
        log.Writer.BaseCommitted(cut);
        log.WaitThroughRetries(() => log.Writer.SyncedPosition >= behind, "the sync");
        Assert.Null(log.Writer.Failure);
        Assert.Equal(1, log.Recoveries);
        Assert.Equal(RunningLog.Select + "behind", log.Files[1].SyncedText);
    }

    [Fact]
    public async Task What_is_asked_of_a_writer_that_has_ended_or_ends_fails()
    {
        var log = new RunningLog(FsyncPolicy.No);
        log.Files[0].FailsWrites = true;
        log.Append("one");
        log.WaitFor(() => log.Failures == 1, "the failure");
        Task pending = log.Writer.SwitchAt(log.Chain.ForgetDatabase(), _ => log.NewFile());
        log.Dispose();
        Assert.True(pending.IsFaulted);
        Assert.False(await log.Writer.Flush());
        await Assert.ThrowsAsync<FileFailure>(() => log.Writer.SwitchAt(log.Chain.ForgetDatabase(), _ => log.NewFile()));
        log.Writer.WakeSurely();
        log.Writer.Ask(log.Chain.Reserved);
    }

    [Fact]
    public void Output_that_waits_when_the_policy_becomes_no_may_leave()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        log.Files[0].Wrote = () => log.Writer.Apply(FsyncPolicy.No, writesTimestamps: false); // between a write and its sync
        long end = log.Append("one");
        log.WaitFor(() => log.Reported == end, "the report that nothing waits for");
        Assert.Equal(0, log.Writer.SyncedPosition);
    }

    [Fact]
    public void Timestamps_precede_the_first_record_of_a_second()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        log.Writer.Apply(FsyncPolicy.Always, writesTimestamps: true);
        log.WaitForSynced(log.Append("a"));
        log.WaitForSynced(log.Append("b"));
        log.Clock.Advance(1000);
        log.WaitForSynced(log.Append("c"));
        long second = TestClock.StartSeconds;
        Assert.Equal($"#TS:{second}\r\n{RunningLog.Select}ab#TS:{second + 1}\r\nc", log.Files[0].SyncedText);
    }

    [Fact]
    public void Writes_and_syncs_are_timed()
    {
        using var log = new RunningLog(FsyncPolicy.Always);
        log.WaitForSynced(log.Append("quick"));
        log.Files[0].Syncing = () => log.Clock.Advance(3000);
        log.WaitForSynced(log.Append("slow"));
        Assert.Equal([RunningLog.Select.Length + "quick".Length, "slow".Length], log.WrittenBytes);
        Assert.Equal([TimeSpan.Zero, TimeSpan.FromSeconds(3)], log.SyncTimes);
    }

    private sealed class RunningLog : IDisposable
    {
        internal const string Select = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n";

        internal RunningLog(FsyncPolicy policy)
        {
            Writer = new LogWriter(Chain, Clock, policy)
            {
                SuspendsSyncs = () => SuspendsSyncs,
                Synced = position => Volatile.Write(ref _reported, position),
                Failed = (_, _) => Interlocked.Increment(ref Failures),
                Recovered = () => Interlocked.Increment(ref Recoveries),
                WriteTimed = (bytes, _) => WrittenBytes.Add(bytes),
                SyncTimed = SyncTimes.Add,
            };
            Writer.Start(NewFile(), 0);
        }

        private long _reported;

        internal volatile bool SuspendsSyncs;

        internal long Reported => Volatile.Read(ref _reported);

        internal int Failures;
        internal int Recoveries;

        internal List<long> WrittenBytes { get; } = [];

        internal List<TimeSpan> SyncTimes { get; } = [];

        internal TestClock Clock { get; } = new();

        internal LogChain Chain { get; } = new();

        internal LogWriter Writer { get; }

        internal List<MemoryFile> Files { get; } = [];

        internal MemoryFile NewFile()
        {
            var file = new MemoryFile();
            Files.Add(file);
            return file;
        }

        internal long Append(string text)
        {
            byte[] bytes = Encoding.ASCII.GetBytes(text);
            LogAppender appender = Chain.Begin(bytes.Length, 0, 0);
            appender.Append(bytes);
            long end = appender.End();
            Writer.WakeSurely();
            return end;
        }

        internal void WaitForSynced(long position) => WaitFor(() => Writer.SyncedPosition >= position, "the sync");

        // The writer may determine when to try again after the test has seen its failure, and the clock stands still otherwise.
        internal void WaitThroughRetries(Func<bool> condition, string what) => WaitFor(
            () =>
            {
                if (condition()) return true;
                Clock.Advance(LogWriter.RetryMs);
                return false;
            },
            what);

        internal void WaitFor(Func<bool> condition, string what) => Assert.True(SpinWait.SpinUntil(condition, PatienceMs), $"timed out waiting for {what}");

        public void Dispose() => Writer.Dispose();
    }

    private sealed class TestClock : TimeProvider
    {
        internal const long StartSeconds = 1_700_000_000;

        private long _ms;

        public override long TimestampFrequency => 1000;

        public override long GetTimestamp() => Volatile.Read(ref _ms);

        public override DateTimeOffset GetUtcNow() => DateTimeOffset.FromUnixTimeMilliseconds((StartSeconds * 1000) + GetTimestamp());

        internal void Advance(long ms) => Interlocked.Add(ref _ms, ms);
    }

    private sealed class MemoryFile : IOpenFile
    {
        private readonly Lock _lock = new();
        private byte[] _bytes = [];
        private byte[] _synced = [];

        internal volatile bool FailsWrites;
        internal volatile bool FailsSyncs;
        internal int FailedWrites;
        internal Action? Syncing;
        internal Action? Wrote;

        public string Path => "memory";

        public long Length
        {
            get
            {
                lock (_lock) return _bytes.Length;
            }
        }

        internal string Text
        {
            get
            {
                lock (_lock) return Encoding.ASCII.GetString(_bytes);
            }
        }

        internal string SyncedText
        {
            get
            {
                lock (_lock) return Encoding.ASCII.GetString(_synced);
            }
        }

        public int Read(long position, Span<byte> target) => throw new NotSupportedException();

        public void Write(long position, ReadOnlySpan<byte> bytes)
        {
            lock (_lock)
            {
                if (_bytes.Length < position + bytes.Length) Array.Resize(ref _bytes, (int)position + bytes.Length);
                int taken = FailsWrites ? bytes.Length / 2 : bytes.Length;
                bytes[..taken].CopyTo(_bytes.AsSpan((int)position));
            }

            Wrote?.Invoke();
            if (!FailsWrites) return;
            Interlocked.Increment(ref FailedWrites);
            throw new FileFailure("write", Path, 28);
        }

        public void SetLength(long bytes)
        {
            lock (_lock) Array.Resize(ref _bytes, (int)bytes);
        }

        public void SyncData()
        {
            if (FailsSyncs) throw new FileFailure("sync", Path, 5);
            Syncing?.Invoke();
            lock (_lock) _synced = [.. _bytes];
        }

        public void Dispose()
        {
        }
    }
}
