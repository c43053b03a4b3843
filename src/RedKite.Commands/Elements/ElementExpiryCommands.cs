using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.Members;

namespace RedKite.Server.Commands.Elements;

/// <summary>How commands on the expiry of elements open a key's value. A value is opened to change it as one type and to look into it as another.</summary>
internal interface IElementAccess<TValue, TView>
    where TValue : struct, IExpiringElements, allows ref struct
    where TView : struct, IElementExpiries, allows ref struct
{
    static abstract ElementKind Kind { get; }

    static abstract bool OpenToWriteOrReply(scoped in CommandContext cmd, out TValue value);

    static abstract bool OpenToLookUpOrReply(scoped in CommandContext cmd, out TView view);

    /// <summary>Prepares a value whose elements are about to get an expiry.</summary>
    static virtual void Reserve(scoped ref TValue value)
    {
    }
}

/// <summary>
/// The handlers of the commands on expiries that a hash's fields and a set's members have in common. The comments show the syntax
/// for fields; a set's commands begin with S, and its list with MEMBERS nummembers.
/// </summary>
internal static class ElementExpiryCommands<TAccess, TValue, TView>
    where TAccess : struct, IElementAccess<TValue, TView>
    where TValue : struct, IExpiringElements, allows ref struct
    where TView : struct, IElementExpiries, allows ref struct
{
    // HEXPIRE key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    internal static void Expire(ref CommandContext cmd) => Expire(ref cmd, ExpiryUnit.Seconds);

    // HPEXPIRE key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    internal static void PExpire(ref CommandContext cmd) => Expire(ref cmd, ExpiryUnit.Milliseconds);

    // HEXPIREAT key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    internal static void ExpireAt(ref CommandContext cmd) => Expire(ref cmd, ExpiryUnit.UnixSeconds);

    // HPEXPIREAT key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]
    internal static void PExpireAt(ref CommandContext cmd) => Expire(ref cmd, ExpiryUnit.UnixMilliseconds);

    private static void Expire(ref CommandContext cmd, ExpiryUnit unit)
    {
        // As in Redis, the key's type is checked before the arguments.
        if (!TAccess.OpenToWriteOrReply(cmd, out TValue value)) return;
        if (!ExpiryRequest.TryParseOrReply(cmd, TAccess.Kind, unit, out ExpiryRequest request)) return;
        TAccess.Reserve(ref value);
        ElementExpiry.Set(cmd, TAccess.Kind, ref value, request);
    }

    // HTTL key FIELDS numfields field [field ...]
    internal static void Ttl(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.Seconds);

    // HPTTL key FIELDS numfields field [field ...]
    internal static void PTtl(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.Milliseconds);

    // HEXPIRETIME key FIELDS numfields field [field ...]
    internal static void ExpireTime(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.UnixSeconds);

    // HPEXPIRETIME key FIELDS numfields field [field ...]
    internal static void PExpireTime(ref CommandContext cmd) => ReplyExpiries(ref cmd, ExpiryUnit.UnixMilliseconds);

    private static void ReplyExpiries(ref CommandContext cmd, ExpiryUnit unit)
    {
        if (TAccess.OpenToLookUpOrReply(cmd, out TView view)) ElementExpiry.Reply(cmd, TAccess.Kind, view, unit);
    }

    // HPERSIST key FIELDS numfields field [field ...]
    internal static void Persist(ref CommandContext cmd)
    {
        if (TAccess.OpenToWriteOrReply(cmd, out TValue value)) ElementExpiry.Persist(cmd, TAccess.Kind, ref value);
    }
}
