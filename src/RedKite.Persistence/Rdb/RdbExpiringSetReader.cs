using RedKite.Store.Values.Sets;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Reads a set of whose members some expire. No other server documents a form for it, so it is that of a module of RedKite's own, which they refuse by
/// its name:
/// <code>
/// id of the module
/// members: when it expires in Unix milliseconds (0: it does not), member
/// </code>
/// Each is a part of a module's data: see <see cref="RdbModule"/>. Members that have expired are left out.
/// </summary>
internal static class RdbExpiringSetReader
{
    // As for the fields of hashes.
    private const ulong ExpiryMaxMs = (1UL << 46) - 1;

    internal static bool TryRead(ref RdbInput input, in RdbTarget target, RdbScratch scratch)
    {
        SetValue set = default;
        bool any = false;
        while (true)
        {
            if (!RdbModule.TryUnsignedOrEnd(ref input, out ulong expiryMs, out bool isEnd)) return false;
            if (isEnd) return any;
            if (expiryMs > ExpiryMaxMs || !RdbModule.TryString(ref input, scratch.First, out ReadOnlySpan<byte> member)) return false;
            any = true;
            if (expiryMs > 0 && target.Expiry.HasPassed((long)expiryMs)) continue;
            if (!set.Exists) set = SetValue.Create(target.Database, target.Key, target.Hash, target.AccessClock, member, count: 1, target.Limits.Set);
            if (!set.Add(member)) return false;
            if (expiryMs > 0) set.WriteExpiry(member, (long)expiryMs);
        }
    }
}
