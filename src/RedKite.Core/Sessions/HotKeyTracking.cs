using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Sessions;

/// <summary>What HOTKEYS START asks for.</summary>
/// <param name="TracksCpu">Whether the time of commands is added up by key.</param>
/// <param name="TracksNet">Whether the bytes of requests and replies are.</param>
/// <param name="Count">How many keys are reported.</param>
/// <param name="DurationMs">When the tracking ends by itself; 0: never.</param>
/// <param name="SampleRatio">One of this many uses of keys is added up.</param>
/// <param name="Slots">In a cluster, the slots whose keys are tracked; null: all.</param>
internal sealed record HotKeyOptions(bool TracksCpu, bool TracksNet, int Count, long DurationMs, int SampleRatio, SlotSet? Slots);

/// <summary>What commands have taken.</summary>
internal readonly record struct HotKeySums(long Ns, long Bytes);

/// <summary>What HOTKEYS GET reports.</summary>
internal sealed record HotKeyReport(
    HotKeyOptions Options, bool IsActive, long StartMs, long DurationMs, HotKeySums All, HotKeySums Selected, HotKeySums Sampled, TimeSpan UserTime, TimeSpan SystemTime, (byte[] Key, long Sum)[] ByCpu, (byte[] Key, long Sum)[] ByNet);

/// <summary>
/// HOTKEYS: the keys on which commands spend the most time and bytes, from a start to a stop. While it is active, the server's attention flag keeps
/// commands off the short path, so that each is measured by itself; otherwise it costs nothing.
/// </summary>
internal sealed class HotKeyTracking(AttentionWord attention, Keyspace keyspace, ServerClock clock, KeptMemory kept)
{
    private readonly Lock _changing = new();
    private volatile Tracked? _tracked; // null: nothing was tracked, or it was reset

    /// <summary>Whether it is active.</summary>
    internal bool IsInProgress
    {
        get
        {
            lock (_changing) return IsActive(clock.SteadyMs);
        }
    }

    /// <summary>Begins to track. False: it is active already.</summary>
    internal bool TryStart(HotKeyOptions options)
    {
        lock (_changing)
        {
            if (IsActive(clock.SteadyMs)) return false;
            _tracked?.Release();
            _tracked = new Tracked(kept, options, clock.NowMs, clock.SteadyMs, ProcessorTime());
            attention.Set(ServerAttention.TracksHotKeys, on: true);
            return true;
        }
    }

    /// <summary>Ends the tracking; the sums stay. False: it is not active.</summary>
    internal bool TryStop()
    {
        lock (_changing)
        {
            if (!IsActive(clock.SteadyMs)) return false;
            End(_tracked!, clock.SteadyMs);
            return true;
        }
    }

    /// <summary>Releases the sums. False: it is active.</summary>
    internal bool TryReset()
    {
        lock (_changing)
        {
            if (IsActive(clock.SteadyMs)) return false;
            _tracked?.Release();
            _tracked = null;
            return true;
        }
    }

    /// <summary>The sums so far; null: there are none.</summary>
    internal HotKeyReport? Read()
    {
        lock (_changing)
        {
            long nowMs = clock.SteadyMs;
            if (_tracked is not { } tracked) return null;
            bool isActive = IsActive(nowMs);
            (TimeSpan user, TimeSpan system) = isActive ? ProcessorTime() : tracked.TimeAtEnd;
            return new HotKeyReport(
                tracked.Options,
                isActive,
                tracked.StartMs,
                (isActive ? nowMs : tracked.EndSteadyMs) - tracked.StartSteadyMs,
                tracked.All.Read(),
                tracked.Selected.Read(),
                tracked.Sampled,
                user - tracked.TimeAtStart.User,
                system - tracked.TimeAtStart.System,
                tracked.Top(byCpu: true),
                tracked.Top(byCpu: false));
        }
    }

    /// <summary>Adds a command that has executed. A command with several keys counts equally for each. From any thread.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="ns">How long it executed.</param>
    /// <param name="bytes">The bytes of its request and reply.</param>
    internal void Add(scoped in CommandContext cmd, long ns, long bytes)
    {
        if (_tracked is not { EndSteadyMs: 0 } tracked) return;
        if (tracked.IsOver(clock.SteadyMs))
        {
            lock (_changing) _ = IsActive(clock.SteadyMs);
            return;
        }

        int keys = 0;
        var counted = new KeyExtraction(cmd.Command);
        while (counted.MoveNext(cmd)) keys++;
        if (keys == 0) return;
        tracked.All.Add(ns, bytes);
        if (tracked.Options.Slots is { } slots && !slots.Contains(cmd.Slot())) return;
        tracked.Selected.Add(ns, bytes);
        var extraction = new KeyExtraction(cmd.Command);
        while (extraction.MoveNext(cmd))
        {
            ReadOnlySpan<byte> key = cmd[extraction.Argument];
            tracked.Add(new KeyIdentity(cmd.Database.Index, keyspace.Hash(key)), key, ns / keys, bytes / keys);
        }
    }

    // Ends what is over. Locked.
    private bool IsActive(long nowMs)
    {
        if (_tracked is not { EndSteadyMs: 0 } tracked) return false;
        if (!tracked.IsOver(nowMs)) return true;
        End(tracked, tracked.StartSteadyMs + tracked.Options.DurationMs);
        return false;
    }

    private void End(Tracked tracked, long steadyMs)
    {
        tracked.TimeAtEnd = ProcessorTime();
        tracked.EndSteadyMs = Math.Max(1, steadyMs);
        attention.Set(ServerAttention.TracksHotKeys, on: false);
    }

    private static (TimeSpan User, TimeSpan System) ProcessorTime()
    {
        if (OperatingSystem.IsIOS() || OperatingSystem.IsTvOS()) return default;
        Environment.ProcessCpuUsage usage = Environment.CpuUsage;
        return (usage.UserTime, usage.PrivilegedTime);
    }

    // One tracking. Keys are spread over shards by their hash, so that loops seldom wait for each other.
    private sealed class Tracked
    {
        private const int ShardCount = 8; // a power of two
        private const int KeysMaxOfShard = 256;
        private const int KeyBytesMax = 1024;

        private readonly Shard[] _shards = new Shard[ShardCount];
        private long _endSteadyMs;

        internal Tracked(KeptMemory kept, HotKeyOptions options, long nowMs, long steadyMs, (TimeSpan User, TimeSpan System) time)
        {
            (Options, StartMs, StartSteadyMs, TimeAtStart) = (options, nowMs, steadyMs, time);
            for (int i = 0; i < ShardCount; i++)
            {
                _shards[i] = new Shard(kept, options.TracksCpu ? new KeyRanking(KeysMaxOfShard) : null, options.TracksNet ? new KeyRanking(KeysMaxOfShard) : null);
            }
        }

        internal HotKeyOptions Options { get; }

        internal long StartMs { get; }

        internal long StartSteadyMs { get; }

        /// <summary>When it ended; 0: it is active.</summary>
        internal long EndSteadyMs
        {
            get => Volatile.Read(ref _endSteadyMs);
            set => Volatile.Write(ref _endSteadyMs, value);
        }

        internal (TimeSpan User, TimeSpan System) TimeAtStart { get; }

        internal (TimeSpan User, TimeSpan System) TimeAtEnd { get; set; }

        /// <summary>Of all commands with keys.</summary>
        internal Sums All { get; } = new();

        /// <summary>Of those whose slot is tracked.</summary>
        internal Sums Selected { get; } = new();

        /// <summary>Of their keys' uses that were added up.</summary>
        internal HotKeySums Sampled => _shards.Aggregate(default(HotKeySums), static (sum, shard) => new HotKeySums(sum.Ns + shard.Sampled.Ns, sum.Bytes + shard.Sampled.Bytes));

        internal bool IsOver(long steadyMs) => Options.DurationMs > 0 && steadyMs - StartSteadyMs >= Options.DurationMs;

        internal void Add(KeyIdentity identity, ReadOnlySpan<byte> key, long ns, long bytes)
        {
            _shards[identity.Hash & (ShardCount - 1)].Add(identity, key[..Math.Min(key.Length, KeyBytesMax)], ns, bytes, Options.SampleRatio);
        }

        /// <summary>Counts no more, also if other threads still add to it.</summary>
        internal void Release()
        {
            foreach (Shard shard in _shards) shard.Release();
        }

        internal (byte[] Key, long Sum)[] Top(bool byCpu)
        {
            var sum = new Dictionary<KeyIdentity, (byte[] Key, double Uses)>();
            foreach (Shard shard in _shards) shard.AddTo(sum, byCpu);

            return [.. sum.Values.OrderByDescending(key => key.Uses).Take(Options.Count).Select(key => (key.Key, (long)key.Uses))];
        }
    }

    private sealed class Sums
    {
        private long _ns;
        private long _bytes;

        internal void Add(long ns, long bytes)
        {
            Interlocked.Add(ref _ns, ns);
            Interlocked.Add(ref _bytes, bytes);
        }

        internal HotKeySums Read() => new(Volatile.Read(ref _ns), Volatile.Read(ref _bytes));
    }

    private sealed class Shard
    {
        private readonly Lock _adding = new();
        private readonly KeptMemory _kept;
        private readonly KeyRanking? _byCpu;
        private readonly KeyRanking? _byNet;
        private long _counted;
        private bool _isReleased;
        private SampleGap _gap = new(0x2545F491);
        private HotKeySums _sampled;
        private int _left; // uses until the next sample

        internal Shard(KeptMemory kept, KeyRanking? byCpu, KeyRanking? byNet)
        {
            (_kept, _byCpu, _byNet) = (kept, byCpu, byNet);
            Count();
        }

        internal void Add(KeyIdentity identity, ReadOnlySpan<byte> key, long ns, long bytes, int sampleRatio)
        {
            lock (_adding)
            {
                if (_isReleased) return;
                if (sampleRatio > 1)
                {
                    if (_left <= 0) _left = _gap.Next(sampleRatio);
                    if (--_left > 0) return;
                }

                _sampled = new HotKeySums(_sampled.Ns + ns, _sampled.Bytes + bytes);
                _byCpu?.Add(identity, key, ns);
                _byNet?.Add(identity, key, bytes);
                Count();
            }
        }

        internal HotKeySums Sampled
        {
            get
            {
                lock (_adding) return _sampled;
            }
        }

        internal void Release()
        {
            lock (_adding)
            {
                _isReleased = true;
                Count();
            }
        }

        internal void AddTo(Dictionary<KeyIdentity, (byte[] Key, double Uses)> sum, bool ofCpu)
        {
            lock (_adding) (ofCpu ? _byCpu : _byNet)?.AddTo(sum);
        }

        private void Count()
        {
            long bytes = _isReleased ? 0 : (_byCpu?.Bytes ?? 0) + (_byNet?.Bytes ?? 0);
            _kept.Add(Kept.HotKeys, bytes - _counted);
            _counted = bytes;
        }
    }
}
