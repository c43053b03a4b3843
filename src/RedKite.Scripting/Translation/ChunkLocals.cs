namespace RedKite.Scripting.Translation;

/// <summary>What translated chunks call: locals in front of a chunk, which get functions of the prelude as the chunk's arguments. A chunk has those that it uses.</summary>
internal static class ChunkLocals
{
    /// <summary>Each with what it is in the prelude.</summary>
    internal static readonly (string Local, string Function)[] All =
    [
        ("__rk_c", "c"), ("__rk_c2", "c2"), ("__rk_c3", "c3"), ("__rk_t", "tick"), ("__rk_v", "values"), ("__rk_s", "select"), ("__rk_m", "modulo"), ("r__k", "checkCall"),
        ("r__c", "call"), ("r__e", "effect"), ("t__n", "tonumberOfOne"), ("__rk_o", "remainder"), ("__rk_l", "length"), ("__rk_g", "lengthOf"),
    ];

    /// <summary>The name of the flag that tells a script to ask whether it may continue.</summary>
    internal static ReadOnlySpan<byte> FlagName => "__rk_f"u8;

    /// <summary>The declarations in front of a translated text, and the prelude's functions that they get.</summary>
    internal static (string Prologue, List<string> Functions) UsedBy(string text)
    {
        List<string> locals = [];
        List<string> functions = [];
        foreach ((string local, string function) in All)
        {
            if (!Names(text, local)) continue;
            locals.Add(local);
            functions.Add(function);
        }

        return ((locals.Count > 0 ? "local " + string.Join(',', locals) + "=... " : "") + "local __rk_f=false ", functions);
    }

    // Whether the text may have that name: in a string of the script it only costs a little.
    private static bool Names(string text, string local)
    {
        for (int at = 0; (at = text.IndexOf(local, at, StringComparison.Ordinal)) >= 0;)
        {
            at += local.Length;
            if (at == text.Length || !char.IsAsciiLetterOrDigit(text[at])) return true;
        }

        return false;
    }
}
