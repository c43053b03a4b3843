using System.Runtime.CompilerServices;
using RedKite.Server.Config;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>Records accesses in the entries of keys, as the policy of eviction needs them and the client wants them.</summary>
internal sealed class AccessRecorder(Settings settings)
{
    private long _nowMs;
    private bool _onlySetsClock; // there is no LFU counter, no CLIENT NO-TOUCH, and reading counts

    /// <summary>The access clock of a key that is created now.</summary>
    internal uint NewClock { get; private set; }

    internal void SetTime(long nowMs)
    {
        _nowMs = nowMs;
        NewClock = settings.CountsFrequency ? AccessClock.NewLfu(nowMs) : AccessClock.Lru(nowMs);
    }

    /// <summary>Called before the commands of a client, and after one that may have changed how accesses are recorded.</summary>
    internal void BeginClient(Session session) => _onlySetsClock = !session.NoTouch && settings is { CountsFrequency: false, IgnoresReads: false };

    /// <summary>Records that a value is read.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void RecordRead(Session session, scoped in Entry entry)
    {
        if (_onlySetsClock) entry.SetAccessClock(NewClock);
        else if (!settings.IgnoresReads) RecordSlowly(session, entry);
    }

    /// <summary>Records that a value is about to change.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal void Record(Session session, scoped in Entry entry)
    {
        if (_onlySetsClock) entry.SetAccessClock(NewClock);
        else RecordSlowly(session, entry);
    }

    /// <summary>Records an access although the client may have CLIENT NO-TOUCH.</summary>
    internal void RecordAnyway(Entry entry) => entry.SetAccessClock(
        settings.CountsFrequency ? AccessClock.TouchLfu(entry.AccessClock, _nowMs, settings.LfuDecayMinutes, settings.LfuLogFactor) : NewClock);

    /// <summary>
    /// The access clock of a key that gets a new value: as in Redis it keeps that of its old one, in which the access that replaces it is recorded unless
    /// the client has CLIENT NO-TOUCH.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal uint ClockOfRewritten(scoped in Entry existing) =>
        !_onlySetsClock && existing.Exists ? existing.AccessClock : NewClock;

    private void RecordSlowly(Session session, Entry entry)
    {
        if (!session.NoTouch) RecordAnyway(entry);
    }
}
