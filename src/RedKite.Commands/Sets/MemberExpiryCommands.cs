using RedKite.Server.Changes;
using RedKite.Server.Commands.Elements;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Sets;
using static RedKite.Server.Model.CommandFlags;
using static RedKite.Server.Model.KeyFlags;
using Expiries = RedKite.Server.Commands.Elements.ElementExpiryCommands<RedKite.Server.Commands.Sets.MemberExpiryCommands.MemberAccess, RedKite.Store.Values.Sets.SetValue, RedKite.Store.Values.Sets.SetView>;

namespace RedKite.Server.Commands.Sets;

/// <summary>
/// Commands on the expiry of a set's members, each with a list of members at its end. The table is their single declaration and this
/// file's contents.
/// </summary>
internal static class MemberExpiryCommands
{
    private const string Complexity = "O(N) where N is the number of specified members";
    private const string MemberSyntax = "MEMBERS members:(nummembers:integer member [member ...])";
    private const string ConditionSyntax = "condition:[NX | XX | GT | LT] " + MemberSyntax;

    private const string AddSyntax = "key condition:[MNX | MXX] expiration:[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] " + MemberSyntax;

    private static readonly ElementKind Members = new()
    {
        List = "MEMBERS"u8.ToArray(),
        OnlyNew = "MNX"u8.ToArray(),
        OnlyExisting = "MXX"u8.ToArray(),
        BothConditionsError = "ERR Only one of MXX or MNX arguments can be specified"u8.ToArray(),
        NoListError = "ERR Mandatory argument MEMBERS is missing or not at the right position"u8.ToArray(),
        MissingListError = "ERR missing MEMBERS argument"u8.ToArray(),
        RepeatedListError = "ERR MEMBERS keyword specified multiple times"u8.ToArray(),
        EmptyListError = "ERR MEMBERS requires at least nummembers and one member argument"u8.ToArray(),
        CountError = "ERR Number of members must be a positive integer"u8.ToArray(),
        ExpireCountError = "ERR Number of members must be a positive integer"u8.ToArray(),
        OptionCountError = "ERR Number of members must be a positive integer"u8.ToArray(),
        MismatchError = "ERR The `nummembers` parameter must match the number of arguments"u8.ToArray(),
        TooFewError = "ERR The `nummembers` parameter must match the number of arguments"u8.ToArray(),
        Removed = KeyEvent.SRem,
        Expires = KeyEvent.SExpire,
        Persisted = KeyEvent.SPersist,
        RemoveCommand = "SREM"u8.ToArray(),
        ExpireCommand = "SPEXPIREAT"u8.ToArray(),
        PersistCommand = "SPERSIST"u8.ToArray(),
        SetCommand = "SADDEX"u8.ToArray(),
    };

    private static readonly KeySpec[] Accessed = KeySpecs.One(1, KeyFlags.ReadOnly | Access);
    private static readonly KeySpec[] Updated = KeySpecs.One(1, ReadWrite | Update);

    internal static readonly CommandFamily Family = new("set", "set",
    [
        new("SEXPIRE", -6, Write | Fast, Updated, Expiries.Expire, new("8.12.0", Complexity, "Sets the expiry of members of a set to a number of seconds from now.", "key seconds " + ConditionSyntax)),
        new("SPEXPIRE", -6, Write | Fast, Updated, Expiries.PExpire, new("8.12.0", Complexity, "Sets the expiry of members of a set to a number of milliseconds from now.", "key milliseconds " + ConditionSyntax)),
        new("SEXPIREAT", -6, Write | Fast, Updated, Expiries.ExpireAt, new("8.12.0", Complexity, "Sets the expiry of members of a set to a Unix time in seconds.", "key unix-time-seconds " + ConditionSyntax)),
        new("SPEXPIREAT", -6, Write | Fast, Updated, Expiries.PExpireAt, new("8.12.0", Complexity, "Sets the expiry of members of a set to a Unix time in milliseconds.", "key unix-time-milliseconds " + ConditionSyntax)),
        new("STTL", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.Ttl, new("8.12.0", Complexity, "Returns the remaining time to live of members of a set in seconds.", "key " + MemberSyntax)) { Tips = ["nondeterministic_output"] },
        new("SPTTL", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.PTtl, new("8.12.0", Complexity, "Returns the remaining time to live of members of a set in milliseconds.", "key " + MemberSyntax)) { Tips = ["nondeterministic_output"] },
        new("SEXPIRETIME", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.ExpireTime, new("8.12.0", Complexity, "Returns the expiry of members of a set as a Unix time in seconds.", "key " + MemberSyntax)),
        new("SPEXPIRETIME", -5, CommandFlags.ReadOnly | Fast, Accessed, Expiries.PExpireTime, new("8.12.0", Complexity, "Returns the expiry of members of a set as a Unix time in milliseconds.", "key " + MemberSyntax)),
        new("SPERSIST", -5, Write | Fast, Updated, Expiries.Persist, new("8.12.0", Complexity, "Removes the expiry of members of a set.", "key " + MemberSyntax)),
        new("SADDEX", -5, Write | DenyOom | Fast, Updated, SAddEx, new("8.12.0", "O(N) where N is the number of members being added.", "Adds members to a set, optionally on a condition and with an expiry. Creates the key if it doesn't exist.", AddSyntax)),
    ]);

    internal readonly struct MemberAccess : IElementAccess<SetValue, SetView>
    {
        public static ElementKind Kind => Members;

        public static bool OpenToWriteOrReply(scoped in CommandContext cmd, out SetValue value) => cmd.OpenToWriteSetOrReply(1, out value);

        public static bool OpenToLookUpOrReply(scoped in CommandContext cmd, out SetView view) => cmd.OpenToLookUpOrReply(1, out view);
    }

    // SADDEX key [MNX | MXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]
    //   MEMBERS nummembers member [member ...]
    private static void SAddEx(ref CommandContext cmd)
    {
        if (!ElementOptions.TryParseOrReply(cmd, Members, sets: true, step: 1, out ElementOptions options)) return;
        ElementArguments members = options.Elements;
        if (!cmd.OpenToWriteSetOrReply(1, out SetValue set)) return;
        for (int i = members.First; i < members.End; i++) set.RemoveIfExpired(cmd[i]);
        if (!ElementExpiry.Holds(cmd, set, options))
        {
            cmd.Reply.Integer(0);
            return;
        }

        cmd.Reply.Integer(1);
        if (options.HasExpiry && cmd.Expiry.HasPassed(options.ExpiryMs))
        {
            Remove(cmd, ref set, options);
            return;
        }

        if (!set.Exists) cmd.OpenToWriteSetOrReply(1, firstMember: cmd[members.First], members.Count, out set);
        int added = 0;
        int given = 0;
        for (int i = members.First; i < members.End; i++)
        {
            if (set.Add(cmd[i])) added++;
            if (options.KeepsExpiry) continue;
            long expiryMs = options.HasExpiry ? options.ExpiryMs : Database.NoExpiry;
            if (set.ExpiryOf(cmd[i]) == expiryMs) continue;
            set.WriteExpiry(cmd[i], expiryMs);
            given++;
        }

        if (added > 0) cmd.Changed(1, KeyEvent.SAdd, added);
        if (given > 0) cmd.Changed(1, options.HasExpiry ? KeyEvent.SExpire : KeyEvent.SPersist, added > 0 ? 0 : given);
        if (added + given > 0) ElementChanges.WriteSet(cmd, Members, options);
    }

    // Members that are to expire in the past: those that are there are removed.
    private static void Remove(scoped in CommandContext cmd, ref SetValue set, in ElementOptions options)
    {
        var changed = new ElementChanges(cmd, Members);
        for (int i = options.Elements.First; i < options.Elements.End; i++)
        {
            if (set.Remove(cmd[i])) changed.Add(cmd, i);
        }

        changed.ReportExpiry(cmd, options.ExpiryMs);
    }
}
