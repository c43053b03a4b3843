using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>Effects of commands that delete a key or set its expiry: the commands that replicas and the log receive instead of the request.</summary>
internal static class KeyEffects
{
    /// <summary>Records the key's deletion.</summary>
    internal static void EffectDelete(this scoped in CommandContext cmd, int key)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("DEL"u8, 2).Argument(cmd[key]);
    }

    /// <summary>Records an absolute expiry, in Unix milliseconds.</summary>
    internal static void EffectExpireAt(this scoped in CommandContext cmd, int key, long expiryMs)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("PEXPIREAT"u8, 3).Argument(cmd[key]).Argument(expiryMs);
    }

    /// <summary>Records a string with an absolute expiry, in Unix milliseconds.</summary>
    internal static void EffectSetWithExpiry(this scoped in CommandContext cmd, int key, int value, long expiryMs)
    {
        if (cmd.Recording.TakesEffects) cmd.Effect("SET"u8, 5).Argument(cmd[key]).Argument(cmd[value]).Argument("PXAT"u8).Argument(expiryMs);
    }
}
