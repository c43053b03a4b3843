using RedKite.Server.Loops;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Tests.Loops;

/// <summary>Quiet time makes pages huge unless it is set not to, and only as far as lookups can repay the CPU.</summary>
public sealed class QuietHugePagesTests : IDisposable
{
    private const int Keys = 100_000;
    private const int ValueBytes = 1000;
    private const long ManyHits = 1_000_000_000;

    private readonly Keyspace _keyspace = new(stripes: 1, databases: 1);
    private long _nowMs = 1_000_000;
    private long _lastRegionNs;

    public QuietHugePagesTests()
    {
        Span<byte> key = stackalloc byte[sizeof(int)];
        for (int i = 0; i < Keys; i++)
        {
            BitConverter.TryWriteBytes(key, i);
            Database database = _keyspace.Databases[0];
            ulong hash = _keyspace.Hash(key);
            _keyspace.Stripes[0].Enter();
            database.WriteString(key, hash, database.Find(key, hash, ExpiryClock.Never), ValueBytes, ValueEncoding.Embedded, Database.NoExpiry, accessClock: 0);
            _keyspace.Stripes[0].Exit();
        }
    }

    public void Dispose() => _keyspace.Dispose();

    [Fact]
    public void Nothing_is_measured_or_made_huge_if_the_setting_is_off()
    {
        PassQuietTime(new QuietHugePages(_keyspace), ManyHits, isEnabled: false);
        Assert.Equal(0, _keyspace.MakingHugeCpuNs);
    }

    [Fact]
    public void Loaded_keys_that_are_not_read_are_left_as_they_are()
    {
        PassQuietTime(new QuietHugePages(_keyspace), hits: 0);
        Assert.Equal(0, _keyspace.MakingHugeCpuNs);
    }

    [Fact]
    public void Busy_loops_are_left_alone()
    {
        PassQuietTime(new QuietHugePages(_keyspace), ManyHits, busyShare: 0.3);
        Assert.Equal(0, _keyspace.MakingHugeCpuNs);
    }

    [Fact]
    public void Lookups_pay_for_some_regions()
    {
        _keyspace.BeginMeasuringTranslation();
        Assert.True(SpinWait.SpinUntil(() => !_keyspace.IsMakingHuge, 60_000));
        long measuringNs = _keyspace.MakingHugeCpuNs;
        if (_keyspace.TranslationNs == 0) Assert.Skip("the machine translates addresses at no cost");
        long hits = Math.Max(QuietHugePages.LookupsMin, (60_000_000 + (2 * measuringNs)) / _keyspace.TranslationNs); // 60 ms of CPU, of half a second that all regions would take
        PassQuietTime(new QuietHugePages(_keyspace), hits);
        // The last region may exceed what the lookups gain; without it there was something left.
        Assert.InRange(_keyspace.MakingHugeCpuNs - _lastRegionNs, measuringNs, Math.Max(measuringNs, hits * _keyspace.TranslationNs));
    }

    [Fact]
    public void Many_lookups_pay_for_all()
    {
        if (!MakesHugePages()) Assert.Skip("the system makes no huge pages");
        PassQuietTime(new QuietHugePages(_keyspace), ManyHits);
        Assert.InRange(_keyspace.RegionsMadeHuge, 2, 100); // A busy system may refuse some.
    }

    private bool MakesHugePages()
    {
        _keyspace.BeginMakingHuge();
        SpinWait.SpinUntil(() => _keyspace.RegionsMadeHuge > 0, 5000);
        return _keyspace.RegionsMadeHuge > 0;
    }

    // A hundred checks, each of which may begin one region on another thread.
    private void PassQuietTime(QuietHugePages pages, long hits, double busyShare = 0, bool isEnabled = true)
    {
        const int stepMs = 100;
        double loopMicroseconds = 0;
        pages.Use(_nowMs, 0, 0, isEnabled);
        for (int i = 0; i < 100; i++)
        {
            _nowMs += stepMs;
            loopMicroseconds += busyShare * stepMs * 1000;
            long before = _keyspace.MakingHugeCpuNs;
            pages.Use(_nowMs, (long)loopMicroseconds, hits, isEnabled);
            Assert.True(SpinWait.SpinUntil(() => !_keyspace.IsMakingHuge, 60_000));
            if (_keyspace.MakingHugeCpuNs > before) _lastRegionNs = _keyspace.MakingHugeCpuNs - before;
        }
    }
}
