using RedKite.Server.Config;
using RedKite.Server.Metrics;

namespace RedKite.Server.Acl;

/// <summary>
/// Counts failed logins by address, and refuses further ones from an address that has reached failed-logins-per-minute. At most
/// a bounded number of addresses is kept; the oldest is forgotten first.
/// </summary>
internal sealed class FailedLogins(Settings settings, LimitCounts limits)
{
    private const int AddressesMax = 10_000;
    private const long PeriodMs = 60_000;

    private readonly Lock _lock = new();
    private readonly Dictionary<string, (long BegunMs, int Count)> _byAddress = [];
    private long _refused;

    /// <summary>How many logins were refused without looking at the password.</summary>
    internal long Refused => Interlocked.Read(ref _refused);

    /// <summary>Whether a login from an address may be tried.</summary>
    internal bool MayTry(string address, long nowMs)
    {
        if (settings.FailedLoginsPerMinute == 0) return true;
        lock (_lock)
        {
            if (!_byAddress.TryGetValue(address, out (long BegunMs, int Count) failed)) return true;
            if (nowMs - failed.BegunMs >= PeriodMs || nowMs < failed.BegunMs || failed.Count < settings.FailedLoginsPerMinute) return true;
        }

        Interlocked.Increment(ref _refused);
        return false;
    }

    /// <summary>Counts a login that has failed.</summary>
    internal void Note(string address, long nowMs)
    {
        lock (_lock)
        {
            (long begunMs, int count) = _byAddress.GetValueOrDefault(address, (nowMs, 0));
            if (nowMs - begunMs >= PeriodMs || nowMs < begunMs) (begunMs, count) = (nowMs, 0);
            if (count == 0 && !_byAddress.ContainsKey(address)) MakeRoom(nowMs);
            _byAddress[address] = (begunMs, count + 1);
        }
    }

    /// <summary>The addresses with failed logins in the last minute, those with the most first.</summary>
    internal IReadOnlyList<(string Address, int Count)> Recent(long nowMs, int countMax)
    {
        lock (_lock)
        {
            return
            [
                .. _byAddress.Where(entry => nowMs - entry.Value.BegunMs < PeriodMs)
                    .OrderByDescending(entry => entry.Value.Count)
                    .Take(countMax)
                    .Select(entry => (entry.Key, entry.Value.Count)),
            ];
        }
    }

    private void MakeRoom(long nowMs)
    {
        if (_byAddress.Count < AddressesMax) return;
        foreach (string old in _byAddress.Where(entry => nowMs - entry.Value.BegunMs >= PeriodMs).Select(entry => entry.Key).ToArray()) _byAddress.Remove(old);
        if (_byAddress.Count < AddressesMax) return;
        _byAddress.Remove(_byAddress.MinBy(entry => entry.Value.BegunMs).Key);
        limits.Note(Limit.LoginAddresses);
    }
}
