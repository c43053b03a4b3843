namespace RedKite.Server.Model;

/// <summary>The access to a key that a request needs, as far as permissions distinguish it.</summary>
[Flags]
internal enum KeyAccess : byte
{
    /// <summary>Only whether the key exists, or of what type it is: any permission for the key suffices.</summary>
    None = 0,
    Read = 1 << 0,
    Write = 1 << 1,
    All = Read | Write,
}

/// <summary>The access that a key specification's flags stand for.</summary>
internal static class KeyAccesses
{
    internal static KeyAccess Of(KeyFlags flags) =>
        ((flags & KeyFlags.Access) != 0 ? KeyAccess.Read : KeyAccess.None)
        | ((flags & (KeyFlags.Insert | KeyFlags.Update | KeyFlags.Delete)) != 0 ? KeyAccess.Write : KeyAccess.None);

    /// <summary>All that any request of a specification may need: its flags may depend on the arguments.</summary>
    internal static KeyAccess MostOf(KeySpec spec) => spec.FlagsOf is null ? Of(spec.Flags) : KeyAccess.All;
}
